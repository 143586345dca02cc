import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.kafka.ConfluentKafkaContainer;
import org.testcontainers.kafka.KafkaContainer;
import org.testcontainers.redpanda.RedpandaContainer;
import org.testcontainers.utility.DockerImageName;

/**
 * Testcontainers' modules of Java, one after the other. Reads lines "MODULE IMAGE PORT": starts that module's
 * container with its port published at PORT, prints its id and address in a line, and stops it at the next line.
 */
public class Modules {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            DockerImageName image = DockerImageName.parse(words[1]);
            try (GenericContainer<?> container = module(words[0], image)) {
                container.setPortBindings(List.of(words[2] + ":" + container.getExposedPorts().get(0)));
                container.start();
                System.out.println("started " + container.getContainerId() + " " + address(container));
                lines.readLine();
            }
            System.out.println("stopped");
        }
    }

    private static GenericContainer<?> module(String name, DockerImageName image) {
        return switch (name) {
            case "apache" -> new KafkaContainer(image.asCompatibleSubstituteFor("apache/kafka"));
            case "confluent" -> new ConfluentKafkaContainer(image.asCompatibleSubstituteFor("confluentinc/cp-kafka"));
            case "redpanda" -> new RedpandaContainer(image.asCompatibleSubstituteFor("redpandadata/redpanda"));
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static String address(GenericContainer<?> container) {
        if (container instanceof KafkaContainer kafka) {
            return kafka.getBootstrapServers();
        }
        if (container instanceof ConfluentKafkaContainer kafka) {
            return kafka.getBootstrapServers();
        }
        return ((RedpandaContainer) container).getBootstrapServers();
    }
}
