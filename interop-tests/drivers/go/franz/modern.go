package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// JoinByBroker starts a member of a group of KIP-848, in which the broker assigns.
func (d *driver) JoinByBroker(group, topic string) (string, error) {
	return d.join(group, topic, kgo.StickyBalancer(), kgo.ServerSideBalancer())
}

// JoinByPattern starts such a member for the topics whose names have a match of the pattern; the broker looks for
// them.
func (d *driver) JoinByPattern(group, pattern string) (string, error) {
	return d.join(group, pattern, kgo.RangeBalancer(), kgo.ServerSideBalancer(), kgo.ConsumeRegex())
}

// JoinAndCommit starts such a member that commits whatever it has been given. No partition is taken from it in
// between, so that the next member goes on right after it.
func (d *driver) JoinAndCommit(group, topic string) (string, error) {
	m := newMember()
	m.commits = true
	return d.add(m, group, topic, kgo.StickyBalancer(), kgo.ServerSideBalancer(), kgo.BlockRebalanceOnPoll())
}

func (m *member) commitAll() {
	if err := m.client.CommitUncommittedOffsets(context.Background()); err != nil {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		m.refused = append(m.refused, err.Error())
	}
}

// Refused is what was said of commits that failed.
func (d *driver) Refused(name string) ([]string, error) {
	m := d.members[name]
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return append([]string{}, m.refused...), nil
}
