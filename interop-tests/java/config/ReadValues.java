import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.util.Csv;

/**
 * Reads configuration values as Kafka reads them. Standard input has lines of a type, a tab and a text; standard
 * output has a JSON array for each: "value" and the value, or "refused" and the message. Texts are ASCII, with
 * \\uXXXX for every other character.
 */
public class ReadValues {
    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            int tab = line.indexOf('\t');
            String row;
            try {
                row = "[\"value\", " + written(read(line.substring(0, tab), decoded(line.substring(tab + 1)))) + "]";
            } catch (RuntimeException e) {
                row = "[\"refused\", " + quoted(e.getMessage()) + "]";
            }
            System.out.println(row);
        }
    }

    private static Object read(String type, String text) {
        return switch (type) {
            case "PAIRS" -> new TreeMap<>(Csv.parseCsvMap(text));
            case "VERSION" -> {
                MetadataVersion.fromVersionString(text);
                yield text;
            }
            default -> ConfigDef.parseType("k", text, ConfigDef.Type.valueOf(type));
        };
    }

    private static String written(Object value) {
        if (value instanceof Password password) return quoted(password.value());
        if (value instanceof List<?> list) {
            List<String> elements = new ArrayList<>();
            list.forEach(each -> elements.add(quoted((String) each)));
            return elements.toString();
        }
        if (value instanceof TreeMap<?, ?> map) {
            List<String> elements = new ArrayList<>();
            map.forEach((name, each) -> elements.add(quoted((String) name) + ": " + quoted((String) each)));
            return "{" + String.join(", ", elements) + "}";
        }
        return value instanceof String || value instanceof Double ? quoted(value.toString()) : String.valueOf(value);
    }

    private static String decoded(String text) {
        StringBuilder result = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) == '\\') {
                result.append((char) Integer.parseInt(text.substring(i + 2, i + 6), 16));
                i += 5;
            } else {
                result.append(text.charAt(i));
            }
        }
        return result.toString();
    }

    private static String quoted(String text) {
        StringBuilder result = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c < ' ' || c > '~' || c == '"' || c == '\\') result.append(String.format("\\u%04x", (int) c));
            else result.append(c);
        }
        return result.append('"').toString();
    }
}
