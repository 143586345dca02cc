package main

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go"
)

func (d *driver) CreateTopic(ctx context.Context, topic string, partitions int, configs map[string]string) error {
	wanted := kafka.TopicConfig{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}
	for key, value := range configs {
		wanted.ConfigEntries = append(wanted.ConfigEntries, kafka.ConfigEntry{ConfigName: key, ConfigValue: value})
	}
	answer, err := d.client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{wanted}})
	if err == nil {
		err = answer.Errors[topic]
	}
	return coded(err)
}

func (d *driver) DeleteTopic(ctx context.Context, topic string) error {
	answer, err := d.client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err == nil {
		err = answer.Errors[topic]
	}
	return coded(err)
}

func (d *driver) Topics(ctx context.Context) ([]string, error) {
	answer, err := d.client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return nil, coded(err)
	}
	names := []string{}
	for _, topic := range answer.Topics {
		names = append(names, topic.Name)
	}
	return names, nil
}

func (d *driver) Partitions(ctx context.Context, topic string) (int, error) {
	answer, err := d.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return 0, coded(err)
	}
	return len(answer.Topics[0].Partitions), coded(answer.Topics[0].Error)
}

func (d *driver) AddPartitions(ctx context.Context, topic string, total int32) error {
	wanted := []kafka.TopicPartitionsConfig{{Name: topic, Count: total}}
	answer, err := d.client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: wanted})
	if err == nil {
		err = answer.Errors[topic]
	}
	return coded(err)
}

func (d *driver) TopicConfig(ctx context.Context, topic, key string) (string, error) {
	wanted := []kafka.DescribeConfigRequestResource{
		{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{key}},
	}
	answer, err := d.client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: wanted})
	if err != nil {
		return "", coded(err)
	}
	return answer.Resources[0].ConfigEntries[0].ConfigValue, coded(answer.Resources[0].Error)
}

func (d *driver) SetTopicConfig(ctx context.Context, topic, key, value string) error {
	change := []kafka.IncrementalAlterConfigsRequestConfig{
		{Name: key, Value: value, ConfigOperation: kafka.ConfigOperationSet},
	}
	wanted := []kafka.IncrementalAlterConfigsRequestResource{
		{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, Configs: change},
	}
	answer, err := d.client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: wanted})
	if err == nil {
		err = answer.Resources[0].Error
	}
	return coded(err)
}

func (d *driver) Groups(ctx context.Context) ([]string, error) {
	answer, err := d.client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil {
		return nil, coded(err)
	}
	names := []string{}
	for _, group := range answer.Groups {
		names = append(names, group.GroupID)
	}
	return names, coded(answer.Error)
}

func (d *driver) describe(ctx context.Context, group string) (kafka.DescribeGroupsResponseGroup, error) {
	answer, err := d.client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return kafka.DescribeGroupsResponseGroup{}, err
	}
	return answer.Groups[0], answer.Groups[0].Error
}

func (d *driver) Group(ctx context.Context, group string) ([]any, error) {
	found, err := d.describe(ctx, group)
	return []any{found.GroupState, len(found.Members)}, coded(err)
}

func (d *driver) Committed(ctx context.Context, group, topic string, partition int) (int64, error) {
	wanted := &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: {partition}}}
	answer, err := d.client.OffsetFetch(ctx, wanted)
	if err != nil {
		return 0, coded(err)
	}
	return answer.Topics[topic][0].CommittedOffset, coded(answer.Topics[topic][0].Error)
}

func (d *driver) DeleteGroup(ctx context.Context, group string) error {
	answer, err := d.client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
	if err == nil {
		err = answer.Errors[group]
	}
	return coded(err)
}

func (d *driver) offsets(
	ctx context.Context, topic string, wanted ...kafka.OffsetRequest,
) (kafka.PartitionOffsets, error) {
	request := &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: wanted}}
	answer, err := d.client.ListOffsets(ctx, request)
	if err != nil {
		return kafka.PartitionOffsets{}, coded(err)
	}
	return answer.Topics[topic][0], coded(answer.Topics[topic][0].Error)
}

// Offsets is the start and the end of one partition.
func (d *driver) Offsets(ctx context.Context, topic string, partition int) ([]int64, error) {
	found, err := d.offsets(ctx, topic, kafka.FirstOffsetOf(partition), kafka.LastOffsetOf(partition))
	return []int64{found.FirstOffset, found.LastOffset}, err
}

// OffsetAt is the first offset at a time or later, -1 where there is none.
func (d *driver) OffsetAt(ctx context.Context, topic string, partition int, ms int64) (int64, error) {
	found, err := d.offsets(ctx, topic, kafka.TimeOffsetOf(partition, time.UnixMilli(ms)))
	for offset := range found.Offsets {
		return offset, err
	}
	return -1, err
}

// Cluster is the id of the cluster, its controller and its brokers.
func (d *driver) Cluster(ctx context.Context) ([]any, error) {
	answer, err := d.client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return nil, coded(err)
	}
	var ids []int
	for _, broker := range answer.Brokers {
		ids = append(ids, broker.ID)
	}
	return []any{answer.ClusterID, answer.Controller.ID, ids}, nil
}
