import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** Lists the topics, each on a line, with the properties of standard input, which may have a login. */
public final class Topics {
    private Topics() {}

    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        config.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        config.load(new InputStreamReader(System.in, "UTF-8"));
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config);
        try {
            for (String topic : consumer.listTopics().keySet()) {
                System.out.println(topic);
            }
        } finally {
            consumer.close();
        }
    }
}
