import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Scanner;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/**
 * Answers each line of standard input with a line in hexadecimal: "name DER" with the text of a distinguished name, "map
 * RULES NAME" with the name of the principal, or "-" if it cannot be told. All arguments are in hexadecimal.
 */
public final class Names {
    private static final HexFormat HEX = HexFormat.of();

    private Names() {}

    private static String text(String hex) {
        return new String(HEX.parseHex(hex), StandardCharsets.UTF_8);
    }

    private static String answer(String[] words) {
        try {
            String found = words[0].equals("name")
                    ? new X500Principal(HEX.parseHex(words[1])).getName()
                    : SslPrincipalMapper.fromRules(text(words[1])).getName(text(words[2]));
            return HEX.formatHex(found.getBytes(StandardCharsets.UTF_8));
        } catch (Exception error) {
            return "-";
        }
    }

    public static void main(String[] args) {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
        while (lines.hasNextLine()) {
            out.println(answer(lines.nextLine().split(" ")));
        }
        out.flush();
    }
}
