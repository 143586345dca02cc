import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;

/**
 * BOOTSTRAP APPLICATION STATE_DIR [NAME=VALUE ...]: counts the words of the topic APPLICATION-lines into
 * APPLICATION-counts until SIGTERM, with these settings. Prints "state NAME" when its state changes and "restored NUMBER" for each store read back from its changelog.
 */
public final class WordCount {
    private WordCount() {}

    public static void main(String[] args) {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("application.id", args[1]);
        config.put("state.dir", args[2]);
        config.put("num.stream.threads", "2");
        config.put("commit.interval.ms", "100");
        config.put("repartition.purge.interval.ms", "100");
        config.put("auto.offset.reset", "earliest");
        // Otherwise a member that closes stays in its group until the session timeout.
        config.put("internal.leave.group.on.close", "true");
        for (String setting : Arrays.asList(args).subList(3, args.length)) {
            String[] parts = setting.split("=", 2);
            config.put(parts[0], parts[1]);
        }

        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[1] + "-lines", Consumed.with(Serdes.ByteArray(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .mapValues(String::valueOf)
            .to(args[1] + "-counts", Produced.with(Serdes.String(), Serdes.String()));

        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.setStateListener((now, before) -> System.out.println("state " + now));
        streams.setGlobalStateRestoreListener(new Restored());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(15))));
        streams.start();
    }

    private static final class Restored implements StateRestoreListener {
        @Override
        public void onRestoreStart(TopicPartition changelog, String store, long start, long end) {}

        @Override
        public void onBatchRestored(TopicPartition changelog, String store, long end, long number) {}

        @Override
        public void onRestoreEnd(TopicPartition changelog, String store, long total) {
            System.out.println("restored " + total);
        }
    }
}
