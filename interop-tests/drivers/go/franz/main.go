// The driver for franz-go, with kadm for administration.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kcompat.test/drivers/far"
)

var codecs = map[string]kgo.CompressionCodec{
	"":       kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

type driver struct {
	bootstrap string
	client    *kgo.Client
	admin     *kadm.Client
	members   map[string]*member
	sharers   map[string]*sharer
}

// coded finds the number that the broker answered.
func coded(err error) error {
	if refused, ok := errors.AsType[*kerr.Error](err); ok {
		return far.Error{Code: int(refused.Code), Cause: err}
	}
	return err
}

func (d *driver) open(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, kgo.SeedBrokers(d.bootstrap))...)
}

func record(r *kgo.Record) far.Record {
	headers := make([]far.Header, len(r.Headers))
	for i, h := range r.Headers {
		headers[i] = far.Header{Key: h.Key, Value: h.Value}
	}
	return far.Record{Value: r.Value, Key: r.Key, Headers: headers, Partition: r.Partition, Offset: r.Offset}
}

func (d *driver) Produce(ctx context.Context, topic string, records []far.Record, codec string) error {
	client, err := d.open(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codecs[codec]))
	if err != nil {
		return err
	}
	defer client.Close()
	sent := make([]*kgo.Record, len(records))
	for i, r := range records {
		headers := make([]kgo.RecordHeader, len(r.Headers))
		for j, h := range r.Headers {
			headers[j] = kgo.RecordHeader{Key: h.Key, Value: h.Value}
		}
		sent[i] = &kgo.Record{Topic: topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: headers}
	}
	return coded(client.ProduceSync(ctx, sent...).FirstErr())
}

// ProduceByDefault sends numbered records with nothing configured (idempotent, snappy) and waits at the end.
func (d *driver) ProduceByDefault(ctx context.Context, topic string, count int) error {
	client, err := d.open()
	if err != nil {
		return err
	}
	defer client.Close()
	var outcome kgo.FirstErrPromise
	for i := range count {
		number := fmt.Appendf(nil, "%d", i)
		client.Produce(ctx, &kgo.Record{Topic: topic, Key: number, Value: number}, outcome.Promise())
	}
	return coded(outcome.Err())
}

// ProduceAt sends one record for each of the times, in milliseconds.
func (d *driver) ProduceAt(ctx context.Context, topic string, times []int64) error {
	client, err := d.open()
	if err != nil {
		return err
	}
	defer client.Close()
	for _, ms := range times {
		sent := &kgo.Record{Topic: topic, Value: []byte("at"), Timestamp: time.UnixMilli(ms)}
		if err := client.ProduceSync(ctx, sent).FirstErr(); err != nil {
			return coded(err)
		}
	}
	return nil
}

func (d *driver) Consume(
	ctx context.Context, topic string, partitions []int32, count int, start int64,
) ([]far.Record, error) {
	from := map[int32]kgo.Offset{}
	for _, p := range partitions {
		from[p] = kgo.NewOffset().At(start)
	}
	client, err := d.open(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	got := []far.Record{}
	for len(got) < count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, coded(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, record(r)) })
	}
	return got, nil
}

// member is a consumer of a group.
type member struct {
	client  *kgo.Client
	inbox   far.Inbox
	mutex   sync.Mutex
	owned   map[int32]bool
	revoked []int32
	commits bool // what it has been given, before it asks for more
	refused []string
	going   context.Context
	end     context.CancelFunc
	ended   chan struct{}
}

func newMember() *member {
	m := &member{owned: map[int32]bool{}, ended: make(chan struct{})}
	m.going, m.end = context.WithCancel(context.Background())
	return m
}

func (m *member) assigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, partitions := range added {
		for _, p := range partitions {
			m.owned[p] = true
		}
	}
}

func (m *member) lost(_ context.Context, _ *kgo.Client, taken map[string][]int32) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, partitions := range taken {
		m.revoked = append(m.revoked, partitions...)
		for _, p := range partitions {
			delete(m.owned, p)
		}
	}
}

func (m *member) run() {
	defer close(m.ended)
	for m.going.Err() == nil {
		fetches := m.client.PollFetches(m.going)
		if m.going.Err() == nil {
			complain(fetches)
		}
		fetches.EachRecord(func(r *kgo.Record) { m.inbox.Add(record(r)) })
		if m.commits {
			m.commitAll()
			m.client.AllowRebalance()
		}
	}
}

func complain(fetches kgo.Fetches) {
	fetches.EachError(func(topic string, partition int32, err error) {
		fmt.Fprintf(os.Stderr, "%s-%d: %v\n", topic, partition, err)
	})
}

// Join starts a member with an assignor that takes everything away at each rebalance.
func (d *driver) Join(group, topic string) (string, error) {
	return d.join(group, topic, kgo.StickyBalancer())
}

// JoinCooperatively starts a member with franz-go's default assignor.
func (d *driver) JoinCooperatively(group, topic string) (string, error) {
	return d.join(group, topic, kgo.CooperativeStickyBalancer())
}

func (d *driver) join(group, topic string, assignor kgo.GroupBalancer, more ...kgo.Opt) (string, error) {
	return d.add(newMember(), group, topic, assignor, more...)
}

func (d *driver) add(
	m *member, group, topic string, assignor kgo.GroupBalancer, more ...kgo.Opt,
) (string, error) {
	var err error
	m.client, err = d.open(append(more,
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.Balancers(assignor),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.OnPartitionsAssigned(m.assigned),
		kgo.OnPartitionsRevoked(m.lost),
		kgo.OnPartitionsLost(m.lost),
	)...)
	if err != nil {
		return "", err
	}
	go m.run()
	name := far.NewName("member")
	d.members[name] = m
	return name, nil
}

func (d *driver) Received(name string) ([]far.Record, error) {
	return d.members[name].inbox.Records(), nil
}

func (d *driver) Assigned(name string) ([]int32, error) {
	m := d.members[name]
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return append([]int32{}, slices.Sorted(maps.Keys(m.owned))...), nil
}

// Revoked is every partition that was ever taken from the member.
func (d *driver) Revoked(name string) ([]int32, error) {
	m := d.members[name]
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return append([]int32{}, m.revoked...), nil
}

func (d *driver) Commit(ctx context.Context, name, topic string, partition int32, offset int64) error {
	wanted := map[string]map[int32]kgo.EpochOffset{topic: {partition: {Epoch: -1, Offset: offset}}}
	var outcome error
	d.members[name].client.CommitOffsetsSync(ctx, wanted,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			outcome = err
			if err == nil {
				outcome = kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
			}
		})
	return coded(outcome)
}

func (d *driver) Leave(name string) error {
	_, err := d.LeaveHaving(name)
	return err
}

// LeaveHaving ends a member, and says what it has been given in all.
func (d *driver) LeaveHaving(name string) ([]far.Record, error) {
	m := d.members[name]
	m.end()
	<-m.ended
	m.client.Close()
	delete(d.members, name)
	return m.inbox.Records(), nil
}

func (d *driver) Close() error {
	for name := range d.members {
		if err := d.Leave(name); err != nil {
			return err
		}
	}
	for name := range d.sharers {
		if err := d.LeaveShared(name); err != nil {
			return err
		}
	}
	d.admin.Close()
	return nil
}

func main() {
	d := &driver{bootstrap: os.Args[1], members: map[string]*member{}, sharers: map[string]*sharer{}}
	var err error
	d.client, err = d.open(kgo.MetadataMinAge(10 * time.Millisecond)) // kadm answers from metadata younger than that
	if err != nil {
		panic(err)
	}
	d.admin = kadm.NewClient(d.client)
	far.Serve(d)
}
