/** Keys and values as the lines of our tests show them: x and hexadecimal digits, a dot for null. */
final class Bytes {
    private Bytes() {}

    static String show(byte[] bytes) {
        if (bytes == null) {
            return ".";
        }
        StringBuilder out = new StringBuilder("x");
        for (byte b : bytes) {
            out.append(String.format("%02x", b));
        }
        return out.toString();
    }

    static byte[] parse(String text) {
        if (text.equals(".")) {
            return null;
        }
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(text.substring(1 + 2 * i, 3 + 2 * i), 16);
        }
        return bytes;
    }
}
