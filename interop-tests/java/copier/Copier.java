import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * BOOTSTRAP SOURCE TARGET GROUP TRANSACTIONAL_ID RECORDS [NAME=VALUE ...]: copies a topic to another, partition by
 * partition, in transactions of at most RECORDS that hold the offsets as well, and begins again where the group was
 * after an abort. The settings are those of the consumer. It ends when a transaction cannot be aborted; told to end by
 * SIGTERM it leaves its group after the transaction that it is in.
 */
public final class Copier {
    private volatile boolean goesOn = true;
    private final String target;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaProducer<byte[], byte[]> producer;

    private Copier(String[] args) {
        target = args[2];
        Properties reading = new Properties();
        reading.put("bootstrap.servers", args[0]);
        reading.put("group.id", args[3]);
        reading.put("enable.auto.commit", "false");
        reading.put("auto.offset.reset", "earliest");
        reading.put("isolation.level", "read_committed");
        reading.put("max.poll.records", args[5]);
        for (String setting : List.of(args).subList(6, args.length)) {
            String[] parts = setting.split("=", 2);
            reading.put(parts[0], parts[1]);
        }
        consumer = new KafkaConsumer<>(reading, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        Properties writing = new Properties();
        writing.put("bootstrap.servers", args[0]);
        writing.put("transactional.id", args[4]);
        writing.put("transaction.timeout.ms", "10000");
        producer = new KafkaProducer<>(writing, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        consumer.subscribe(List.of(args[1]));
    }

    public static void main(String[] args) {
        Copier copier = new Copier(args);
        Thread worker = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> copier.end(worker)));
        while (copier.goesOn) {
            ConsumerRecords<byte[], byte[]> records = copier.consumer.poll(Duration.ofMillis(200));
            if (!records.isEmpty()) {
                copier.copy(records);
            }
        }
        copier.consumer.close();
    }

    private void end(Thread worker) {
        goesOn = false;
        try {
            worker.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void copy(ConsumerRecords<byte[], byte[]> records) {
        Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        try {
            producer.beginTransaction();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                producer.send(new ProducerRecord<>(target, record.partition(), record.key(), record.value()));
                positions.put(
                    new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(positions, consumer.groupMetadata());
            producer.commitTransaction();
        } catch (KafkaException failure) {
            System.out.println("aborting after " + failure);
            producer.abortTransaction();
            rewind();
        }
    }

    private void rewind() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition place : consumer.assignment()) {
            OffsetAndMetadata offset = committed.get(place);
            consumer.seek(place, offset == null ? 0 : offset.offset());
        }
    }
}
