import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import kafka.api.ConsumerMetadataRequest;
import kafka.api.FetchRequestBuilder;
import kafka.api.PartitionOffsetRequestInfo;
import kafka.common.OffsetAndMetadata;
import kafka.common.OffsetMetadataAndError;
import kafka.common.TopicAndPartition;
import kafka.javaapi.ConsumerMetadataResponse;
import kafka.javaapi.FetchResponse;
import kafka.javaapi.OffsetCommitRequest;
import kafka.javaapi.OffsetCommitResponse;
import kafka.javaapi.OffsetFetchRequest;
import kafka.javaapi.OffsetFetchResponse;
import kafka.javaapi.OffsetRequest;
import kafka.javaapi.TopicMetadataRequest;
import kafka.javaapi.consumer.SimpleConsumer;
import kafka.message.MessageAndOffset;
import kafka.network.BlockingChannel;

/**
 * HOST PORT TOPIC COUNT GROUP: what a program of 2015 did with the consumer of Kafka 0.8.2, which speaks version
 * 0 of everything. Prints the records of partition 0, then "metadata LEADER", "offsets EARLIEST LATEST" and
 * "committed OFFSET" of a commit it made.
 */
public final class SimpleConsume {
    private static final String CLIENT = "simple";

    private SimpleConsume() {}

    public static void main(String[] args) throws Exception {
        String host = args[0];
        int port = Integer.parseInt(args[1]);
        String topic = args[2];
        SimpleConsumer consumer = new SimpleConsumer(host, port, 10000, 64 * 1024, CLIENT);
        int leader = consumer.send(new TopicMetadataRequest(Arrays.asList(topic)))
            .topicsMetadata().get(0).partitionsMetadata().get(0).leader().port();
        long next = read(consumer, topic, Integer.parseInt(args[3]));
        System.out.println("metadata " + leader);
        System.out.println("offsets " + lookUp(consumer, topic, -2) + " " + lookUp(consumer, topic, -1));
        consumer.close();
        System.out.println("committed " + commit(host, port, args[4], new TopicAndPartition(topic, 0), next));
    }

    private static long read(SimpleConsumer consumer, String topic, int count) {
        long next = 0;
        int fetchSize = 100000;
        int left = count;
        for (int tries = 0; left > 0 && tries < 1000; tries++) {
            FetchResponse response = consumer.fetch(new FetchRequestBuilder()
                .clientId(CLIENT).addFetch(topic, 0, next, fetchSize).maxWait(100).minBytes(1).build());
            if (response.hasError()) {
                throw new IllegalStateException("error " + response.errorCode(topic, 0));
            }
            for (MessageAndOffset one : response.messageSet(topic, 0)) {
                if (one.offset() < next) {
                    continue; // a compressed batch is returned whole
                }
                one.message().ensureValid();
                System.out.println(one.offset() + " -1 " + Bytes.show(bytes(one.message().key())) + " "
                    + Bytes.show(bytes(one.message().payload())));
                next = one.nextOffset();
                left--;
            }
        }
        return next;
    }

    private static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static long lookUp(SimpleConsumer consumer, String topic, long time) {
        TopicAndPartition partition = new TopicAndPartition(topic, 0);
        Map<TopicAndPartition, PartitionOffsetRequestInfo> wanted =
            Collections.singletonMap(partition, new PartitionOffsetRequestInfo(time, 1));
        return consumer.getOffsetsBefore(new OffsetRequest(wanted, (short) 0, CLIENT)).offsets(topic, 0)[0];
    }

    private static long commit(String host, int port, String group, TopicAndPartition partition, long offset) {
        BlockingChannel channel = new BlockingChannel(
            host, port, BlockingChannel.UseDefaultBufferSize(), BlockingChannel.UseDefaultBufferSize(), 10000);
        channel.connect();
        int coordinator = findCoordinator(channel, group);
        if (coordinator != port) {
            throw new IllegalStateException("the coordinator is at " + coordinator);
        }
        Map<TopicAndPartition, OffsetAndMetadata> offsets = new HashMap<>();
        offsets.put(partition, new OffsetAndMetadata(offset, "by hand", -1L));
        channel.send(new OffsetCommitRequest(group, offsets, 2, CLIENT, (short) 1).underlying());
        OffsetCommitResponse answer = OffsetCommitResponse.readFrom(channel.receive().buffer());
        if (answer.hasError()) {
            throw new IllegalStateException("commit " + answer.errorCode(partition));
        }
        channel.send(new OffsetFetchRequest(group, Arrays.asList(partition), (short) 1, 3, CLIENT).underlying());
        OffsetMetadataAndError found =
            OffsetFetchResponse.readFrom(channel.receive().buffer()).offsets().get(partition);
        channel.disconnect();
        return found.offset();
    }

    private static int findCoordinator(BlockingChannel channel, String group) {
        for (int tries = 0; tries < 100; tries++) {
            channel.send(new ConsumerMetadataRequest(group, ConsumerMetadataRequest.CurrentVersion(), 1, CLIENT));
            ConsumerMetadataResponse answer = ConsumerMetadataResponse.readFrom(channel.receive().buffer());
            if (answer.errorCode() == 0) {
                return answer.coordinator().port();
            }
        }
        throw new IllegalStateException("no coordinator");
    }
}
