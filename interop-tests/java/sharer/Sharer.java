import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * BOOTSTRAP: members of share groups that say what becomes of each record. The far end of drivers/remote.py: one JSON
 * request a line on standard input, one JSON answer a line on standard output.
 */
public final class Sharer {
    private record Member(
            KafkaShareConsumer<String, String> consumer,
            Map<String, ConsumerRecord<String, String>> held,
            List<String> told) {}

    private final String bootstrap;
    private final Map<String, Member> members = new HashMap<>();

    private Sharer(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    private String join(String group, String topic) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("share.acquire.mode", "record_limit");
        settings.put("max.poll.records", "3");
        settings.put("fetch.max.wait.ms", "100");
        KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        List<String> told = new ArrayList<>();
        consumer.setAcknowledgementCommitCallback(
                (offsets, failure) -> told.add(failure == null ? "" : failure.getClass().getSimpleName()));
        consumer.subscribe(List.of(topic));
        String name = "member-" + members.size();
        members.put(name, new Member(consumer, new HashMap<>(), told));
        return name;
    }

    private List<Map<String, Object>> take(String name, int ms) {
        Member member = members.get(name);
        List<Map<String, Object>> taken = new ArrayList<>();
        for (ConsumerRecord<String, String> record : member.consumer.poll(Duration.ofMillis(ms))) {
            member.held.put(record.partition() + ":" + record.offset(), record);
            taken.add(Map.of(
                    "value", record.value(), "partition", record.partition(), "offset", record.offset(),
                    "deliveries", record.deliveryCount().get()));
        }
        return taken;
    }

    private Member mark(JsonNode given) {
        Member member = members.get(given.get(0).asText());
        ConsumerRecord<String, String> record = member.held.get(given.get(1).asInt() + ":" + given.get(2).asLong());
        member.consumer.acknowledge(record, AcknowledgeType.valueOf(given.get(3).asText().toUpperCase()));
        return member;
    }

    private void answer(JsonNode given) {
        for (Optional<KafkaException> error : mark(given).consumer.commitSync().values())
            error.ifPresent(refused -> { throw refused; });
        if (given.get(3).asText().equals("renew"))
            take(given.get(0).asText(), 10_000); // what was renewed is given once more, to be answered once more
    }

    private Object call(String operation, JsonNode given) {
        switch (operation) {
            case "join_shared":
                return join(given.get(0).asText(), given.get(1).asText());
            case "take":
                return take(given.get(0).asText(), given.get(1).asInt());
            case "answer":
                answer(given);
                return null;
            case "answer_later":
                mark(given).consumer.commitAsync();
                return null;
            case "told":
                return members.get(given.get(0).asText()).told;
            case "leave_shared":
                members.get(given.get(0).asText()).consumer.close();
                return null;
            case "close":
                members.values().forEach(member -> member.consumer.close());
                return null;
            default:
                throw new IllegalArgumentException("no operation " + operation);
        }
    }

    public static void main(String[] args) throws Exception {
        Sharer sharer = new Sharer(args[0]);
        ObjectMapper json = new ObjectMapper();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = requests.readLine()) != null; ) {
            JsonNode request = json.readTree(line);
            Map<String, Object> answer = new HashMap<>();
            try {
                answer.put("result", sharer.call(request.get(0).asText(), request.get(1)));
            } catch (KafkaException refused) {
                answer.put("code", Errors.forException(refused).code());
                answer.put("error", refused.toString());
            } catch (RuntimeException failed) {
                answer.put("error", failed.toString());
            }
            System.out.println(json.writeValueAsString(answer));
        }
    }
}
