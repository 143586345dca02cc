package main

import (
	"maps"
	"slices"

	"github.com/IBM/sarama"
)

func (d *driver) CreateTopic(topic string, partitions int32, configs map[string]*string) error {
	detail := &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: configs}
	return coded(d.admin.CreateTopic(topic, detail, false))
}

func (d *driver) DeleteTopic(topic string) error {
	return coded(d.admin.DeleteTopic(topic))
}

func (d *driver) Topics() ([]string, error) {
	if err := d.client.RefreshMetadata(); err != nil {
		return nil, coded(err)
	}
	names, err := d.client.Topics()
	return names, coded(err)
}

func (d *driver) Partitions(topic string) (int, error) {
	found, err := d.admin.DescribeTopics([]string{topic})
	if err != nil {
		return 0, coded(err)
	}
	return len(found[0].Partitions), coded(found[0].Err)
}

func (d *driver) AddPartitions(topic string, total int32) error {
	return coded(d.admin.CreatePartitions(topic, total, nil, false))
}

func (d *driver) TopicConfig(topic, key string) (string, error) {
	resource := &sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{key}}
	found, err := d.admin.DescribeConfigs([]*sarama.ConfigResource{resource}, sarama.DescribeConfigsOptions{})
	if err != nil {
		return "", coded(err)
	}
	return found[0].Configs[0].Value, nil
}

// SetTopicConfig changes one setting; before Kafka 2.3 the others go back to their defaults.
func (d *driver) SetTopicConfig(topic, key, value string) error {
	if !d.version.IsAtLeast(sarama.V2_3_0_0) {
		return coded(d.admin.AlterConfig(sarama.TopicResource, topic, map[string]*string{key: &value}, false))
	}
	change := sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
	changes := map[string]sarama.IncrementalAlterConfigsEntry{key: change}
	return coded(d.admin.IncrementalAlterConfig(sarama.TopicResource, topic, changes, false))
}

func (d *driver) Groups() ([]string, error) {
	found, err := d.admin.ListConsumerGroups()
	return slices.Collect(maps.Keys(found)), coded(err)
}

func (d *driver) Group(group string) ([]any, error) {
	found, err := d.admin.DescribeConsumerGroups([]string{group})
	if err != nil {
		return nil, coded(err)
	}
	return []any{found[0].State, len(found[0].Members)}, coded(found[0].Err)
}

func (d *driver) Committed(group, topic string, partition int32) (int64, error) {
	found, err := d.admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: {partition}})
	if err != nil {
		return 0, coded(err)
	}
	block := found.GetBlock(topic, partition)
	return block.Offset, coded(block.Err)
}

func (d *driver) DeleteGroup(group string) error {
	return coded(d.admin.DeleteConsumerGroup(group))
}

// Offsets is the start and the end of one partition.
func (d *driver) Offsets(topic string, partition int32) ([]int64, error) {
	start, err := d.OffsetAt(topic, partition, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	end, err := d.OffsetAt(topic, partition, sarama.OffsetNewest)
	return []int64{start, end}, err
}

// OffsetAt is the first offset at a time or later, -1 where there is none.
func (d *driver) OffsetAt(topic string, partition int32, ms int64) (int64, error) {
	wanted := map[string]map[int32]int64{topic: {partition: ms}}
	found, err := d.admin.ListOffsets(wanted, nil)
	if err != nil {
		return 0, coded(err)
	}
	return found[topic][partition].Offset, coded(found[topic][partition].Err)
}

// DeleteRecords deletes up to an offset and returns the new start.
func (d *driver) DeleteRecords(topic string, partition int32, offset int64) (int64, error) {
	if err := d.admin.DeleteRecords(topic, map[int32]int64{partition: offset}); err != nil {
		return 0, coded(err)
	}
	return d.OffsetAt(topic, partition, sarama.OffsetOldest)
}

// LogSize is the size of a topic in all log directories.
func (d *driver) LogSize(topic string) (int64, error) {
	var ids []int32
	for _, broker := range d.client.Brokers() {
		ids = append(ids, broker.ID())
	}
	found, err := d.admin.DescribeLogDirs(ids)
	var total int64
	for _, dirs := range found {
		for _, dir := range dirs {
			total += sizeIn(dir, topic)
		}
	}
	return total, coded(err)
}

func sizeIn(dir sarama.DescribeLogDirsResponseDirMetadata, topic string) int64 {
	var total int64
	for _, one := range dir.Topics {
		for _, partition := range one.Partitions {
			if one.Topic == topic {
				total += partition.Size
			}
		}
	}
	return total
}

// Cluster is the controller and the brokers; Sarama does not show the id of a cluster.
func (d *driver) Cluster() ([]any, error) {
	brokers, controller, err := d.admin.DescribeCluster()
	var ids []int32
	for _, broker := range brokers {
		ids = append(ids, broker.ID())
	}
	return []any{nil, controller, ids}, coded(err)
}
