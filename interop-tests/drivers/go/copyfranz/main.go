// BOOTSTRAP SOURCE TARGET GROUP TRANSACTIONAL_ID RECORDS [group.protocol=consumer]: copies a topic to another,
// partition by partition, with franz-go's GroupTransactSession, at most RECORDS in a transaction. It ends when a
// transaction can be neither committed nor aborted; told to end by SIGTERM it leaves its group after the transaction
// that it is in.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const patience = 200 * time.Millisecond

func main() {
	source, target, group, name := os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	atMost, err := strconv.Atoi(os.Args[6])
	if err != nil {
		log.Fatal(err)
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(os.Args[1]),
		kgo.TransactionalID(name),
		kgo.TransactionTimeout(10 * time.Second),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.SessionTimeout(6 * time.Second),
		kgo.HeartbeatInterval(500 * time.Millisecond),
	}
	if slices.Contains(os.Args[7:], "group.protocol=consumer") {
		options = append(options, kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer())
	}
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		log.Fatal(err)
	}
	goesOn, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for goesOn.Err() == nil {
		if err := copyOnce(session, target, atMost); err != nil {
			session.Close()
			log.Fatal(err)
		}
	}
	session.Close()
}

func copyOnce(session *kgo.GroupTransactSession, target string, atMost int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	records := session.PollRecords(ctx, atMost).Records()
	cancel()
	if len(records) == 0 {
		return nil
	}
	if err := session.Begin(); err != nil {
		return err
	}
	var outcome kgo.FirstErrPromise
	for _, record := range records {
		copied := &kgo.Record{Topic: target, Partition: record.Partition, Key: record.Key, Value: record.Value}
		session.Produce(context.Background(), copied, outcome.Promise())
	}
	commits := outcome.Err() == nil
	committed, err := session.End(context.Background(), kgo.TransactionEndTry(commits))
	if !committed {
		log.Print("a transaction was aborted")
	}
	return err
}
