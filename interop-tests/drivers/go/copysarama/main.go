// BOOTSTRAP SOURCE TARGET GROUP TRANSACTIONAL_ID RECORDS: copies a topic to another, partition by partition, in
// transactions of Sarama's producer that hold the offsets as well, at most RECORDS in one. It ends when anything
// fails.
package main

import (
	"context"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

const patience = 100 * time.Millisecond

type copier struct {
	producer sarama.AsyncProducer
	mutex    sync.Mutex
	target   string
	group    string
	atMost   int
}

func (c *copier) Setup(sarama.ConsumerGroupSession) error { return nil }

func (c *copier) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim copies one partition.
func (c *copier) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-session.Context().Done():
			return nil
		case first, open := <-claim.Messages():
			if !open {
				return nil
			}
			if err := c.copy(c.more(first, claim)); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// more gathers what a transaction has beside its first record.
func (c *copier) more(first *sarama.ConsumerMessage, claim sarama.ConsumerGroupClaim) []*sarama.ConsumerMessage {
	messages := []*sarama.ConsumerMessage{first}
	for timeout := time.After(patience); len(messages) < c.atMost; {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return messages
			}
			messages = append(messages, message)
		case <-timeout:
			return messages
		}
	}
	return messages
}

func (c *copier) copy(messages []*sarama.ConsumerMessage) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err := c.producer.BeginTxn(); err != nil {
		return err
	}
	for _, message := range messages {
		c.producer.Input() <- &sarama.ProducerMessage{
			Topic: c.target, Partition: message.Partition, Value: sarama.ByteEncoder(message.Value),
		}
	}
	last := messages[len(messages)-1]
	if err := c.producer.AddMessageToTxn(last, c.group, nil); err != nil {
		return err
	}
	return c.producer.CommitTxn()
}

func main() {
	atMost, err := strconv.Atoi(os.Args[6])
	if err != nil {
		log.Fatal(err)
	}
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Transaction.ID = os.Args[5]
	config.Producer.Transaction.Timeout = 10 * time.Second
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Net.MaxOpenRequests = 1
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	producer, err := sarama.NewAsyncProducer([]string{os.Args[1]}, config)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for failure := range producer.Errors() {
			log.Print(failure)
		}
	}()
	group, err := sarama.NewConsumerGroup([]string{os.Args[1]}, os.Args[4], config)
	if err != nil {
		log.Fatal(err)
	}
	handler := &copier{producer: producer, target: os.Args[3], group: os.Args[4], atMost: atMost}
	for {
		if err := group.Consume(context.Background(), []string{os.Args[2]}, handler); err != nil {
			log.Fatal(err)
		}
	}
}
