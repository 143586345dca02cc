package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

func (d *driver) CreateTopic(ctx context.Context, topic string, partitions int32, configs map[string]*string) error {
	_, err := d.admin.CreateTopic(ctx, partitions, 1, configs, topic)
	return coded(err)
}

func (d *driver) DeleteTopic(ctx context.Context, topic string) error {
	_, err := d.admin.DeleteTopic(ctx, topic)
	return coded(err)
}

func (d *driver) Topics(ctx context.Context) ([]string, error) {
	details, err := d.admin.ListTopics(ctx)
	return details.Names(), coded(err)
}

func (d *driver) Partitions(ctx context.Context, topic string) (int, error) {
	details, err := d.admin.ListTopics(ctx, topic)
	return len(details[topic].Partitions), coded(err)
}

func (d *driver) AddPartitions(ctx context.Context, topic string, total int) error {
	answers, err := d.admin.UpdatePartitions(ctx, total, topic)
	if err == nil {
		err = answers.Error()
	}
	return coded(err)
}

func (d *driver) TopicConfig(ctx context.Context, topic, key string) (string, error) {
	described, err := d.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return "", coded(err)
	}
	resource, err := described.On(topic, nil)
	if err == nil {
		err = resource.Err
	}
	for _, config := range resource.Configs {
		if config.Key == key {
			return config.MaybeValue(), nil
		}
	}
	return "", coded(err)
}

func (d *driver) SetTopicConfig(ctx context.Context, topic, key, value string) error {
	change := kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: &value}
	answers, err := d.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{change}, topic)
	if err == nil {
		err = answers[0].Err
	}
	return coded(err)
}

func (d *driver) Groups(ctx context.Context) ([]string, error) {
	groups, err := d.admin.ListGroups(ctx)
	return groups.Groups(), coded(err)
}

func (d *driver) Group(ctx context.Context, group string) ([]any, error) {
	groups, err := d.admin.DescribeGroups(ctx, group)
	if err == nil {
		err = groups.Error()
	}
	return []any{groups[group].State, len(groups[group].Members)}, coded(err)
}

func (d *driver) Committed(ctx context.Context, group, topic string, partition int32) (int64, error) {
	offsets, err := d.admin.FetchOffsets(ctx, group)
	if found, ok := offsets.Lookup(topic, partition); ok {
		return found.At, coded(found.Err)
	}
	return -1, coded(err)
}

func (d *driver) DeleteGroup(ctx context.Context, group string) error {
	_, err := d.admin.DeleteGroup(ctx, group)
	return coded(err)
}

// Offsets is the start and the end of one partition.
func (d *driver) Offsets(ctx context.Context, topic string, partition int32) ([]int64, error) {
	starts, err := d.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, coded(err)
	}
	ends, err := d.admin.ListEndOffsets(ctx, topic)
	start, _ := starts.Lookup(topic, partition)
	end, _ := ends.Lookup(topic, partition)
	return []int64{start.Offset, end.Offset}, coded(err)
}

// OffsetAt is the first offset at a time or later; where there is none, kadm answers the end of the partition.
func (d *driver) OffsetAt(ctx context.Context, topic string, partition int32, ms int64) (int64, error) {
	offsets, err := d.admin.ListOffsetsAfterMilli(ctx, ms, topic)
	found, _ := offsets.Lookup(topic, partition)
	return found.Offset, coded(err)
}

// OffsetOfMaxTimestamp is the offset of the record with the latest time (KIP-734).
func (d *driver) OffsetOfMaxTimestamp(ctx context.Context, topic string, partition int32) (int64, error) {
	offsets, err := d.admin.ListMaxTimestampOffsets(ctx, topic)
	found, _ := offsets.Lookup(topic, partition)
	return found.Offset, coded(err)
}

// DeleteRecords deletes up to an offset and returns the new start.
func (d *driver) DeleteRecords(ctx context.Context, topic string, partition int32, offset int64) (int64, error) {
	wanted := kadm.Offsets{}
	wanted.AddOffset(topic, partition, offset, -1)
	answers, err := d.admin.DeleteRecords(ctx, wanted)
	if err == nil {
		err = answers.Error()
	}
	return answers[topic][partition].LowWatermark, coded(err)
}

// LogSize is the size of a topic in all log directories.
func (d *driver) LogSize(ctx context.Context, topic string) (int64, error) {
	brokers, err := d.admin.DescribeAllLogDirs(ctx, nil)
	var total int64
	brokers.Each(func(dir kadm.DescribedLogDir) {
		if err == nil {
			err = dir.Err
		}
		for _, partition := range dir.Topics[topic] {
			total += partition.Size
		}
	})
	return total, coded(err)
}

// Cluster is the id of the cluster, its controller and its brokers.
func (d *driver) Cluster(ctx context.Context) ([]any, error) {
	found, err := d.admin.BrokerMetadata(ctx)
	return []any{found.Cluster, found.Controller, found.Brokers.NodeIDs()}, coded(err)
}
