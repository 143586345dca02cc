package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kcompat.test/drivers/far"
)

// verdicts are what a member of a share group may say of a record.
var verdicts = map[string]kgo.AckStatus{
	"accept":  kgo.AckAccept,
	"release": kgo.AckRelease,
	"reject":  kgo.AckReject,
	"renew":   kgo.AckRenew,
}

// sharer is a member of a share group, and what it holds.
type sharer struct {
	client *kgo.Client
	held   map[place]*kgo.Record
	mutex  sync.Mutex
	told   []error
}

type place struct {
	partition int32
	offset    int64
}

// hear notes what became of answers.
func (s *sharer) hear(_ *kgo.Client, results kgo.ShareAckResults) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, result := range results {
		s.told = append(s.told, result.Err)
	}
}

// heard is what became of answers, in the order in which it was heard; nil where they were taken.
func (s *sharer) heard() []error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.told)
}

// taken is a record as a member of a share group has it.
type taken struct {
	Value      string `json:"value"`
	Partition  int32  `json:"partition"`
	Offset     int64  `json:"offset"`
	Deliveries int32  `json:"deliveries"`
}

// SetGroupConfig changes a setting that a group has of its own.
func (d *driver) SetGroupConfig(ctx context.Context, group, key, value string) error {
	setting := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	setting.Name, setting.Value, setting.Op = key, &value, kmsg.IncrementalAlterConfigOpSet
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	resource.Configs = append(resource.Configs, setting)
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, resource)
	answer, err := request.RequestWith(ctx, d.client)
	if err == nil {
		err = kerr.ErrorForCode(answer.Resources[0].ErrorCode)
	}
	return coded(err)
}

// JoinShared starts a member of a share group. It is given at most three records at a time, and one batch of one
// connection after the other. The client may ask for the next batch just before Take has returned.
func (d *driver) JoinShared(group, topic string) (string, error) {
	s := &sharer{held: map[place]*kgo.Record{}}
	var err error
	s.client, err = d.open(
		kgo.ShareAckCallback(s.hear),
		kgo.ShareGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ShareMaxRecords(3),
		kgo.ShareMaxRecordsStrict(),
		kgo.FetchMaxWait(100*time.Millisecond),
	)
	if err != nil {
		return "", err
	}
	name := far.NewName("sharer")
	d.sharers[name] = s
	return name, nil
}

// Take is what a member is given by one poll of at most so many milliseconds. It accepts what was given before
// and not answered.
func (d *driver) Take(ctx context.Context, name string, ms int) ([]taken, error) {
	s := d.sharers[name]
	ctx, cancel := context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
	defer cancel()
	fetches := s.client.PollFetches(ctx)
	if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, coded(err)
	}
	got := []taken{}
	fetches.EachRecord(func(r *kgo.Record) {
		s.held[place{r.Partition, r.Offset}] = r
		got = append(got, taken{string(r.Value), r.Partition, r.Offset, r.DeliveryCount()})
	})
	return got, nil
}

// Answer says something of a record that was taken, waits until the broker has heard it, and fails if that was
// refused.
func (d *driver) Answer(ctx context.Context, name string, partition int32, offset int64, verdict string) error {
	s := d.sharers[name]
	before := len(s.heard())
	if err := d.AnswerLater(name, partition, offset, verdict); err != nil {
		return err
	}
	if err := s.client.FlushAcks(ctx); err != nil {
		return coded(err)
	}
	return coded(errors.Join(s.heard()[before:]...))
}

// AnswerLater says something of a record that was taken, with the next request that there is.
func (d *driver) AnswerLater(name string, partition int32, offset int64, verdict string) error {
	s := d.sharers[name]
	s.client.MarkAcks(verdicts[verdict], s.held[place{partition, offset}])
	return nil
}

// Told is what became of each answer, or of those of one partition that went together: nothing, or why it was
// refused.
func (d *driver) Told(name string) ([]string, error) {
	said := []string{}
	for _, err := range d.sharers[name].heard() {
		if err == nil {
			said = append(said, "")
		} else {
			said = append(said, err.Error())
		}
	}
	return said, nil
}

// LeaveShared ends a member, which gives back what it holds.
func (d *driver) LeaveShared(name string) error {
	d.sharers[name].client.Close()
	delete(d.sharers, name)
	return nil
}
