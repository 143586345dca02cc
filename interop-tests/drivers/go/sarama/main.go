// The driver for Sarama; the second argument is the release of Kafka that it is told to speak to.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"kcompat.test/drivers/far"
)

var codecs = map[string]sarama.CompressionCodec{
	"":       sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

type driver struct {
	bootstrap []string
	version   sarama.KafkaVersion
	client    sarama.Client
	admin     sarama.ClusterAdmin
	members   map[string]*member
}

// coded finds the number that the broker answered.
func coded(err error) error {
	if failures, ok := errors.AsType[sarama.ProducerErrors](err); ok {
		err = failures[0].Err
	}
	if code, ok := errors.AsType[sarama.KError](err); ok {
		if code == sarama.ErrNoError {
			return nil
		}
		return far.Error{Code: int(code), Cause: err}
	}
	return err
}

func (d *driver) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = d.version
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	config.Consumer.Group.Rebalance.Retry.Backoff = 50 * time.Millisecond
	return config
}

func record(m *sarama.ConsumerMessage) far.Record {
	headers := make([]far.Header, len(m.Headers))
	for i, h := range m.Headers {
		headers[i] = far.Header{Key: string(h.Key), Value: h.Value}
	}
	return far.Record{Value: m.Value, Key: m.Key, Headers: headers, Partition: m.Partition, Offset: m.Offset}
}

// encoder keeps nil and empty apart.
func encoder(content far.Bytes) sarama.Encoder {
	if content == nil {
		return nil
	}
	return sarama.ByteEncoder(content)
}

// connect returns a client that is connected to the leader of a topic. Partitions that open the connection of a new
// producer at the same time may find it "not connected", and what was sent by then is sent again.
func (d *driver) connect(config *sarama.Config, topic string) (sarama.Client, error) {
	client, err := sarama.NewClient(d.bootstrap, config)
	if err != nil {
		return nil, err
	}
	leader, err := client.Leader(topic, 0)
	if err == nil {
		_, err = leader.Connected() // waits for it
	}
	if err != nil {
		return nil, coded(errors.Join(err, client.Close()))
	}
	return client, nil
}

func (d *driver) send(config *sarama.Config, topic string, messages []*sarama.ProducerMessage) error {
	client, err := d.connect(config, topic)
	if err != nil {
		return err
	}
	defer client.Close()
	producer, err := sarama.NewSyncProducerFromClient(client)
	if err != nil {
		return err
	}
	return coded(errors.Join(producer.SendMessages(messages), producer.Close()))
}

func (d *driver) Produce(topic string, records []far.Record, codec string) error {
	config := d.config()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Compression = codecs[codec]
	messages := make([]*sarama.ProducerMessage, len(records))
	for i, r := range records {
		var headers []sarama.RecordHeader
		for _, h := range r.Headers {
			headers = append(headers, sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
		}
		messages[i] = &sarama.ProducerMessage{
			Topic: topic, Partition: r.Partition, Key: encoder(r.Key), Value: encoder(r.Value), Headers: headers,
		}
	}
	return d.send(config, topic, messages)
}

// ProduceByDefault sends numbered records with nothing configured and waits at the end.
func (d *driver) ProduceByDefault(topic string, count int) error {
	config := sarama.NewConfig()
	config.Version = d.version
	return d.produceNumbered(config, topic, count)
}

// ProduceIdempotently does the same with an idempotent producer.
func (d *driver) ProduceIdempotently(topic string, count int) error {
	config := sarama.NewConfig()
	config.Version = d.version
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	return d.produceNumbered(config, topic, count)
}

func (d *driver) produceNumbered(config *sarama.Config, topic string, count int) error {
	config.Producer.Return.Successes = true
	client, err := d.connect(config, topic)
	if err != nil {
		return err
	}
	defer client.Close()
	producer, err := sarama.NewAsyncProducerFromClient(client)
	if err != nil {
		return err
	}
	go func() {
		for i := range count {
			number := sarama.StringEncoder(fmt.Sprint(i))
			producer.Input() <- &sarama.ProducerMessage{Topic: topic, Key: number, Value: number}
		}
	}()
	for range count {
		select {
		case <-producer.Successes():
		case failure := <-producer.Errors():
			return coded(failure.Err)
		}
	}
	return coded(producer.Close())
}

// ProduceAt sends one record for each of the times, in milliseconds.
func (d *driver) ProduceAt(topic string, times []int64) error {
	for _, ms := range times {
		message := &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("at"), Timestamp: time.UnixMilli(ms)}
		if err := d.send(d.config(), topic, []*sarama.ProducerMessage{message}); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) Consume(
	ctx context.Context, topic string, partitions []int32, count int, start int64,
) ([]far.Record, error) {
	consumer, err := sarama.NewConsumer(d.bootstrap, d.config())
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	messages := make(chan *sarama.ConsumerMessage)
	for _, p := range partitions {
		reader, err := consumer.ConsumePartition(topic, p, start)
		if err != nil {
			return nil, coded(err)
		}
		defer reader.AsyncClose()
		go func() {
			for message := range reader.Messages() {
				select {
				case messages <- message:
				case <-ctx.Done():
				}
			}
		}()
	}
	got := []far.Record{}
	for len(got) < count {
		select {
		case message := <-messages:
			got = append(got, record(message))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return got, nil
}

// member is a consumer of a group.
type member struct {
	group   sarama.ConsumerGroup
	topic   string
	inbox   far.Inbox
	stop    context.CancelFunc
	stopped chan struct{}
	mutex   sync.Mutex
	session sarama.ConsumerGroupSession
	revoked []int32
}

func (m *member) hold(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.session = session
	return nil
}

func (m *member) held() sarama.ConsumerGroupSession {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.session
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error { return m.hold(session) }

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return m.hold(nil) }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	defer m.lost(claim.Partition())
	for {
		select {
		case message, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			m.inbox.Add(record(message))
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *member) lost(partition int32) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.revoked = append(m.revoked, partition)
}

func (m *member) run(ctx context.Context) {
	defer close(m.stopped)
	for ctx.Err() == nil {
		if err := m.group.Consume(ctx, []string{m.topic}, m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
	}
}

// Join starts a member with Sarama's default assignor.
func (d *driver) Join(group, topic string) (string, error) {
	return d.join(group, topic, d.config())
}

// JoinCooperatively starts a member with Sarama's cooperative assignor.
func (d *driver) JoinCooperatively(group, topic string) (string, error) {
	config := d.config()
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{
		sarama.NewBalanceStrategyCooperativeSticky(),
	}
	return d.join(group, topic, config)
}

func (d *driver) join(group, topic string, config *sarama.Config) (string, error) {
	consumers, err := sarama.NewConsumerGroup(d.bootstrap, group, config)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{group: consumers, topic: topic, stop: cancel, stopped: make(chan struct{})}
	go m.run(ctx)
	name := far.NewName("member")
	d.members[name] = m
	return name, nil
}

func (d *driver) Received(name string) ([]far.Record, error) {
	return d.members[name].inbox.Records(), nil
}

func (d *driver) Assigned(name string) ([]int32, error) {
	session := d.members[name].held()
	if session == nil {
		return []int32{}, nil
	}
	claims := append([]int32{}, session.Claims()[d.members[name].topic]...)
	slices.Sort(claims)
	return claims, nil
}

// Revoked is every partition that was ever taken from the member.
func (d *driver) Revoked(name string) ([]int32, error) {
	m := d.members[name]
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return append([]int32{}, m.revoked...), nil
}

func (d *driver) Commit(name, topic string, partition int32, offset int64) error {
	session := d.members[name].held()
	if session == nil {
		return errors.New("between two sessions")
	}
	session.MarkOffset(topic, partition, offset, "")
	session.Commit()
	return nil
}

func (d *driver) Leave(name string) error {
	m := d.members[name]
	m.stop()
	<-m.stopped
	delete(d.members, name)
	return coded(m.group.Close())
}

func (d *driver) Close() error {
	for name := range d.members {
		if err := d.Leave(name); err != nil {
			return err
		}
	}
	return errors.Join(d.admin.Close(), d.client.Close())
}

func main() {
	version, err := sarama.ParseKafkaVersion(os.Args[2])
	if err != nil {
		panic(err)
	}
	d := &driver{bootstrap: os.Args[1:2], version: version, members: map[string]*member{}}
	if d.client, err = sarama.NewClient(d.bootstrap, d.config()); err != nil {
		panic(err)
	}
	if d.admin, err = sarama.NewClusterAdmin(d.bootstrap, d.config()); err != nil {
		panic(err)
	}
	far.Serve(d)
}
