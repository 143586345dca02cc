// The driver for segmentio's kafka-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"

	"kcompat.test/drivers/far"
)

var codecs = map[string]kafka.Compression{
	"gzip":   kafka.Gzip,
	"snappy": kafka.Snappy,
	"lz4":    kafka.Lz4,
	"zstd":   kafka.Zstd,
}

type driver struct {
	bootstrap string
	client    *kafka.Client
	members   map[string]*member
}

// coded finds the number that the broker answered.
func coded(err error) error {
	if failures, ok := errors.AsType[kafka.WriteErrors](err); ok {
		err = errors.Join(failures...)
	}
	if large, ok := errors.AsType[kafka.MessageTooLargeError](err); ok {
		return fmt.Errorf("refused by the client itself: %w", large)
	}
	if refused, ok := errors.AsType[kafka.Error](err); ok {
		return far.Error{Code: int(refused), Cause: err}
	}
	return err
}

func record(m kafka.Message) far.Record {
	headers := make([]far.Header, len(m.Headers))
	for i, h := range m.Headers {
		headers[i] = far.Header{Key: h.Key, Value: h.Value}
	}
	return far.Record{Value: m.Value, Key: m.Key, Headers: headers, Partition: int32(m.Partition), Offset: m.Offset}
}

// writer shares the transport of the driver, whose metadata are never old: each test makes a topic of its own.
func (d *driver) writer(topic string) *kafka.Writer {
	return &kafka.Writer{Addr: kafka.TCP(d.bootstrap), Topic: topic, Transport: d.client.Transport}
}

func (d *driver) Produce(ctx context.Context, topic string, records []far.Record, codec string) error {
	writer := d.writer(topic)
	writer.Balancer = kafka.BalancerFunc(func(m kafka.Message, _ ...int) int { return m.Partition })
	writer.RequiredAcks = kafka.RequireAll
	writer.Compression = codecs[codec]
	writer.BatchTimeout = time.Millisecond
	messages := make([]kafka.Message, len(records))
	for i, r := range records {
		var headers []kafka.Header
		for _, h := range r.Headers {
			headers = append(headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		messages[i] = kafka.Message{Partition: int(r.Partition), Key: r.Key, Value: r.Value, Headers: headers}
	}
	return coded(errors.Join(writer.WriteMessages(ctx, messages...), writer.Close()))
}

// ProduceByDefault sends numbered records with nothing configured but not to wait: kafka-go asks for no
// acknowledgement then.
func (d *driver) ProduceByDefault(ctx context.Context, topic string, count int) error {
	writer := d.writer(topic)
	writer.Async = true
	messages := make([]kafka.Message, count)
	for i := range messages {
		number := fmt.Appendf(nil, "%d", i)
		messages[i] = kafka.Message{Key: number, Value: number}
	}
	return coded(errors.Join(writer.WriteMessages(ctx, messages...), writer.Close()))
}

// ProduceAt sends one record for each of the times, in milliseconds.
func (d *driver) ProduceAt(ctx context.Context, topic string, times []int64) error {
	writer := d.writer(topic)
	writer.RequiredAcks = kafka.RequireAll
	writer.BatchSize = 1
	for _, ms := range times {
		message := kafka.Message{Value: []byte("at"), Time: time.UnixMilli(ms)}
		if err := writer.WriteMessages(ctx, message); err != nil {
			return coded(err)
		}
	}
	return writer.Close()
}

func (d *driver) Consume(
	ctx context.Context, topic string, partitions []int, count int, start int64,
) ([]far.Record, error) {
	var inbox far.Inbox
	for _, p := range partitions {
		reader := kafka.NewReader(kafka.ReaderConfig{
			Brokers: []string{d.bootstrap}, Topic: topic, Partition: p, MaxWait: 100 * time.Millisecond,
		})
		defer reader.Close()
		if err := reader.SetOffset(start); err != nil {
			return nil, coded(err)
		}
		go pump(ctx, reader, &inbox)
	}
	for len(inbox.Records()) < count {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return inbox.Records(), nil
}

func pump(ctx context.Context, reader *kafka.Reader, inbox *far.Inbox) {
	for {
		message, err := reader.FetchMessage(ctx)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, err)
			}
			return
		}
		inbox.Add(record(message))
	}
}

// member is a reader of a group. What it owns only the group knows, which tells members by the client id.
type member struct {
	reader *kafka.Reader
	group  string
	inbox  far.Inbox
}

func (d *driver) Join(group, topic string) (string, error) {
	name := far.NewName("member")
	m := &member{group: group, reader: kafka.NewReader(kafka.ReaderConfig{
		Brokers:           []string{d.bootstrap},
		Dialer:            &kafka.Dialer{ClientID: name, Timeout: far.Timeout},
		GroupID:           group,
		Topic:             topic,
		StartOffset:       kafka.FirstOffset,
		MaxWait:           100 * time.Millisecond,
		HeartbeatInterval: 200 * time.Millisecond,
	})}
	go pump(context.Background(), m.reader, &m.inbox)
	d.members[name] = m
	return name, nil
}

func (d *driver) Received(name string) ([]far.Record, error) {
	return d.members[name].inbox.Records(), nil
}

func (d *driver) Assigned(ctx context.Context, name string) ([]int, error) {
	owned := []int{}
	group, err := d.describe(ctx, d.members[name].group)
	for _, other := range group.Members {
		for _, topic := range other.MemberAssignments.Topics {
			if other.ClientID == name {
				owned = append(owned, topic.Partitions...)
			}
		}
	}
	slices.Sort(owned)
	return owned, coded(err)
}

func (d *driver) Commit(ctx context.Context, name, topic string, partition int, offset int64) error {
	last := kafka.Message{Topic: topic, Partition: partition, Offset: offset - 1}
	return coded(d.members[name].reader.CommitMessages(ctx, last))
}

func (d *driver) Leave(name string) error {
	m := d.members[name]
	delete(d.members, name)
	return coded(m.reader.Close())
}

func (d *driver) Close() error {
	for name := range d.members {
		if err := d.Leave(name); err != nil {
			return err
		}
	}
	return nil
}

// await returns once the client knows the brokers. The client waits for metadata no longer than they may be old, which on
// a busy machine is too short now and then; where later ones do not come in time it goes on with those it has.
func await(client *kafka.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		_, err := client.Metadata(ctx, &kafka.MetadataRequest{})
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func main() {
	bootstrap := os.Args[1]
	client := &kafka.Client{Addr: kafka.TCP(bootstrap), Transport: &kafka.Transport{MetadataTTL: 10 * time.Millisecond}}
	if err := await(client); err != nil {
		log.Fatal(err)
	}
	far.Serve(&driver{bootstrap: bootstrap, client: client, members: map[string]*member{}})
}
