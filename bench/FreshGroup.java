import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * FreshGroup BOOTSTRAP TOPIC GROUP TIMES: consumers of so many fresh groups one after the other; for each a line
 * with the milliseconds from making it to its first record. All in one JVM: a cold one measures itself.
 */
public class FreshGroup {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    public static void main(String[] arguments) {
        int times = Integer.parseInt(arguments[3]);
        for (int number = 0; number < times; number++) {
            System.out.println(firstRecordMs(arguments[0], arguments[1], arguments[2] + "-" + number));
        }
    }

    private static double firstRecordMs(String bootstrap, String topic, String group) {
        long begin = System.nanoTime();
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap,
            "group.id", group,
            "auto.offset.reset", "earliest");
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes);
        consumer.subscribe(List.of(topic));
        while (consumer.poll(PATIENCE).isEmpty()) {
            if (System.nanoTime() - begin > PATIENCE.toNanos()) {
                throw new IllegalStateException("no record");
            }
        }
        double elapsed = (System.nanoTime() - begin) / 1e6;
        consumer.close(Duration.ZERO); // else it waits for the fetch that waits for more records
        return elapsed;
    }
}
