import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Scanner;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestAndSize;

/**
 * Answers each line of standard input, "KEY VERSION ERROR BODY" with the body of a request in hexadecimal, with a line: the
 * body of the response that AbstractRequest.getErrorResponse makes, or "-" and the reason why there is none.
 */
public final class ErrorResponses {
    private static final HexFormat HEX = HexFormat.of();

    private ErrorResponses() {}

    /** Releases differ in the class of the last parameter of parseRequest. */
    private static AbstractRequest parse(ApiKeys key, short version, ByteBuffer body) throws Exception {
        for (Method method : AbstractRequest.class.getMethods()) {
            if (method.getName().equals("parseRequest")) {
                Object bytes = method.getParameterTypes()[2] == ByteBuffer.class ? body : new ByteBufferAccessor(body);
                return ((RequestAndSize) method.invoke(null, key, version, bytes)).request;
            }
        }
        throw new NoSuchMethodException("parseRequest");
    }

    private static String answer(String[] words) {
        try {
            short version = Short.parseShort(words[1]);
            ApiKeys key = ApiKeys.forId(Integer.parseInt(words[0]));
            Errors error = Errors.forCode(Short.parseShort(words[2]));
            ByteBuffer body = ByteBuffer.wrap(words.length > 3 ? HEX.parseHex(words[3]) : new byte[0]);
            AbstractResponse response = parse(key, version, body).getErrorResponse(0, error.exception());
            if (response == null) {
                return "- no response";
            }
            ApiMessage data = response.data();
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer bytes = ByteBuffer.allocate(data.size(cache, version));
            data.write(new ByteBufferAccessor(bytes), cache, version);
            return "= " + HEX.formatHex(bytes.array());
        } catch (Throwable error) {
            Throwable cause = error.getCause() == null ? error : error.getCause();
            return "- " + cause.toString().replace('\n', ' ');
        }
    }

    public static void main(String[] arguments) {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            System.out.println(answer(lines.nextLine().split(" ")));
        }
    }
}
