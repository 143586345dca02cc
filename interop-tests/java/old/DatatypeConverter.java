package javax.xml.bind;

import java.util.Base64;

/** The part that the SCRAM of Kafka 0.10.2 to 1.1 uses of a class that Java had up to release 10. */
public final class DatatypeConverter {
    private DatatypeConverter() {}

    public static String printBase64Binary(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    public static byte[] parseBase64Binary(String text) {
        return Base64.getDecoder().decode(text);
    }
}
