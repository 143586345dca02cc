import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * BOOTSTRAP TOPIC COUNT OFFSET: reads that many records of partition 0. BOOTSTRAP TOPIC COUNT GROUP: the same as
 * a member of a group, which then commits. Prints "OFFSET TIMESTAMP KEY VALUE", without a timestamp before 0.10.
 */
public final class Consume {
    private Consume() {}

    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        config.put("group.id", args[3]);
        config.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        config.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config);
        boolean alone = args[3].matches("[0-9]+");
        if (alone) {
            TopicPartition partition = new TopicPartition(args[1], 0);
            consumer.assign(Arrays.asList(partition));
            consumer.seek(partition, Long.parseLong(args[3]));
        } else {
            consumer.subscribe(Arrays.asList(args[1]));
        }
        int left = Integer.parseInt(args[2]);
        long deadline = System.currentTimeMillis() + 30000;
        while (left > 0 && System.currentTimeMillis() < deadline) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(100)) {
                System.out.println(record.offset() + " " + timestamp(record) + " " + Bytes.show(record.key()) + " "
                    + Bytes.show(record.value()));
                left--;
            }
        }
        if (!alone) {
            consumer.commitSync();
        }
        consumer.close();
        System.exit(left == 0 ? 0 : 1);
    }

    private static Object timestamp(ConsumerRecord<byte[], byte[]> record) {
        try {
            return ConsumerRecord.class.getMethod("timestamp").invoke(record);
        } catch (ReflectiveOperationException e) {
            return -1;
        }
    }
}
