import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * BOOTSTRAP SOURCE TARGET CHECKPOINTS FAIL_AT: copies a topic to another exactly once until it is killed. It goes
 * on from the newest whole checkpoint in the directory, if one is there. Each task fails once in a process, at its
 * FAIL_AT-th record, and is started again by Flink. Prints "checkpoint NUMBER" for each that is complete and
 * "failed" at each of these faults.
 */
public final class Copy {
    private Copy() {}

    public static void main(String[] args) throws Exception {
        Configuration config = new Configuration();
        config.setString("execution.checkpointing.interval", "300 ms");
        config.setString("execution.checkpointing.dir", Path.of(args[3]).toUri().toString());
        config.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        config.setString("execution.checkpointing.timeout", "30 s");
        config.setString("execution.checkpointing.tolerable-failed-checkpoints", "1000");
        config.setString("restart-strategy.type", "fixed-delay");
        config.setString("restart-strategy.fixed-delay.attempts", "1000");
        config.setString("restart-strategy.fixed-delay.delay", "100 ms");
        config.setString("taskmanager.memory.managed.size", "16 mb");
        newest(Path.of(args[3])).ifPresent(
            found -> config.setString("execution.state-recovery.path", found.toUri().toString()));

        KafkaSource<String> source = KafkaSource.<String>builder()
            .setBootstrapServers(args[0])
            .setTopics(args[1])
            .setGroupId(args[2])
            .setStartingOffsets(OffsetsInitializer.earliest())
            .setValueOnlyDeserializer(new SimpleStringSchema())
            .build();
        KafkaSink<String> sink = KafkaSink.<String>builder()
            .setBootstrapServers(args[0])
            .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder()
                .setTopic(args[2])
                .setValueSerializationSchema(new SimpleStringSchema())
                .build())
            .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .setTransactionalIdPrefix(args[2])
            .setProperty("transaction.timeout.ms", "60000")
            .build();

        StreamExecutionEnvironment job = StreamExecutionEnvironment.getExecutionEnvironment(config);
        job.setParallelism(2);
        job.fromSource(source, WatermarkStrategy.noWatermarks(), "source")
            .map(new Passing(Integer.parseInt(args[4])))
            .sinkTo(sink);
        job.execute("copy");
    }

    private static Optional<Path> newest(Path checkpoints) throws IOException {
        try (Stream<Path> files = Files.walk(checkpoints)) {
            return files.filter(file -> file.endsWith("_metadata"))
                .max(Comparator.comparing(Copy::modified))
                .map(Path::getParent);
        }
    }

    private static FileTime modified(Path file) {
        try {
            return Files.getLastModifiedTime(file);
        } catch (IOException error) {
            return FileTime.fromMillis(0); // a checkpoint that its successor has just replaced
        }
    }

    /** Passes on what comes, and fails once. */
    private static final class Passing extends RichMapFunction<String, String> implements CheckpointListener {
        private final int failAt;
        private int seen;

        Passing(int failAt) {
            this.failAt = failAt;
        }

        @Override
        public String map(String value) {
            seen++;
            if (seen == failAt && getRuntimeContext().getTaskInfo().getAttemptNumber() == 0) {
                System.out.println("failed");
                throw new IllegalStateException("a fault on purpose");
            }
            return value;
        }

        @Override
        public void notifyCheckpointComplete(long checkpoint) {
            System.out.println("checkpoint " + checkpoint);
        }
    }
}
