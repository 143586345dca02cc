import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/** BOOTSTRAP TOPIC CODEC ...: sends the lines "KEY VALUE" of standard input once under each codec. */
public final class Produce {
    private Produce() {}

    public static void main(String[] args) throws Exception {
        List<String[]> lines = new ArrayList<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            lines.add(line.split(" "));
        }
        for (int i = 2; i < args.length; i++) {
            send(args[0], args[1], args[i], lines);
        }
    }

    private static void send(String bootstrap, String topic, String codec, List<String[]> lines) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", bootstrap);
        config.put("compression.type", codec);
        config.put("acks", "all");
        config.put("linger.ms", "200");
        config.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        config.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (String[] line : lines) {
            byte[] key = Bytes.parse(line[0]);
            sent.add(producer.send(new ProducerRecord<byte[], byte[]>(topic, 0, key, Bytes.parse(line[1]))));
        }
        for (Future<RecordMetadata> one : sent) {
            System.out.println(one.get().offset());
        }
        producer.close();
    }
}
