// A client of each Go library that logs in and lists the topics: "login LIBRARY SETTINGS", where the settings are JSON.
// It prints the topics, or the error, as JSON.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	kafkasasl "github.com/segmentio/kafka-go/sasl"
	kafkaplain "github.com/segmentio/kafka-go/sasl/plain"
	kafkascram "github.com/segmentio/kafka-go/sasl/scram"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	xdgscram "github.com/xdg-go/scram"
)

const patience = 20 * time.Second

// settings are those of one login. The password is the token where the mechanism is OAUTHBEARER.
type settings struct {
	Bootstrap string `json:"bootstrap"`
	Protocol  string `json:"protocol"`
	Mechanism string `json:"mechanism"`
	User      string `json:"user"`
	Password  string `json:"password"`
	CaFile    string `json:"ca_file"`
	Own       string `json:"certificate_file"`
}

// Token makes the settings a token provider of sarama.
func (s settings) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: s.Password}, nil
}

func (s settings) usesSasl() bool { return strings.HasPrefix(s.Protocol, "SASL_") }

// tls is the configuration of TLS, nil where the protocol has none.
func (s settings) tls() (*tls.Config, error) {
	if !strings.HasSuffix(s.Protocol, "SSL") {
		return nil, nil
	}
	data, err := os.ReadFile(s.CaFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data)
	config := &tls.Config{RootCAs: roots}
	if s.Own != "" {
		own, err := tls.LoadX509KeyPair(s.Own, s.Own)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

func franz(ctx context.Context, s settings) ([]string, error) {
	options := []kgo.Opt{kgo.SeedBrokers(s.Bootstrap), kgo.RequestRetries(0)}
	mechanisms := map[string]func() sasl.Mechanism{
		"PLAIN":         plain.Auth{User: s.User, Pass: s.Password}.AsMechanism,
		"SCRAM-SHA-256": scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism,
		"SCRAM-SHA-512": scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism,
		"OAUTHBEARER":   oauth.Auth{Token: s.Password}.AsMechanism,
	}
	if s.usesSasl() {
		options = append(options, kgo.SASL(mechanisms[s.Mechanism]()))
	}
	config, err := s.tls()
	if err != nil {
		return nil, err
	}
	if config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx)
	return topics.Names(), err
}

// scramClient is the SCRAM that sarama leaves to its callers.
type scramClient struct {
	*xdgscram.ClientConversation
	hash xdgscram.HashGeneratorFcn
}

func (c *scramClient) Begin(user, password, authzID string) error {
	client, err := c.hash.NewClient(user, password, authzID)
	if err == nil {
		c.ClientConversation = client.NewConversation()
	}
	return err
}

func saramas(_ context.Context, s settings) ([]string, error) {
	config := sarama.NewConfig()
	config.Metadata.Retry.Max = 0
	if s.usesSasl() {
		config.Net.SASL.Enable = true
		config.Net.SASL.Mechanism = sarama.SASLMechanism(s.Mechanism)
		config.Net.SASL.User, config.Net.SASL.Password = s.User, s.Password
		config.Net.SASL.TokenProvider = s
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
			hash := map[string]xdgscram.HashGeneratorFcn{
				"SCRAM-SHA-256": xdgscram.SHA256, "SCRAM-SHA-512": xdgscram.SHA512,
			}
			return &scramClient{hash: hash[s.Mechanism]}
		}
	}
	roots, err := s.tls()
	if err != nil {
		return nil, err
	}
	config.Net.TLS.Enable, config.Net.TLS.Config = roots != nil, roots
	client, err := sarama.NewClient([]string{s.Bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Topics()
}

// bearer is the OAUTHBEARER that kafka-go leaves to its callers: the token.
type bearer string

func (bearer) Name() string { return "OAUTHBEARER" }

func (b bearer) Start(context.Context) (kafkasasl.StateMachine, []byte, error) {
	return b, []byte("n,,\x01auth=Bearer " + string(b) + "\x01\x01"), nil
}

// Next acknowledges the server's reason for a refusal, after which the server refuses the login.
func (bearer) Next(_ context.Context, reason []byte) (bool, []byte, error) {
	return len(reason) == 0, []byte{1}, nil
}

func kafkago(ctx context.Context, s settings) ([]string, error) {
	transport := &kafka.Transport{}
	var err error
	switch {
	case !s.usesSasl():
	case s.Mechanism == "PLAIN":
		transport.SASL = kafkaplain.Mechanism{Username: s.User, Password: s.Password}
	case s.Mechanism == "SCRAM-SHA-256":
		transport.SASL, err = kafkascram.Mechanism(kafkascram.SHA256, s.User, s.Password)
	case s.Mechanism == "SCRAM-SHA-512":
		transport.SASL, err = kafkascram.Mechanism(kafkascram.SHA512, s.User, s.Password)
	case s.Mechanism == "OAUTHBEARER":
		transport.SASL = bearer(s.Password)
	default:
		err = errors.New("unknown mechanism " + s.Mechanism)
	}
	if err != nil {
		return nil, err
	}
	if transport.TLS, err = s.tls(); err != nil {
		return nil, err
	}
	client := &kafka.Client{Addr: kafka.TCP(s.Bootstrap), Transport: transport}
	answer, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, topic := range answer.Topics {
		names = append(names, topic.Name)
	}
	return names, nil
}

func run() ([]string, error) {
	libraries := map[string]func(context.Context, settings) ([]string, error){
		"franz": franz, "sarama": saramas, "kafkago": kafkago,
	}
	if len(os.Args) != 3 || libraries[os.Args[1]] == nil {
		return nil, errors.New("login LIBRARY SETTINGS")
	}
	var s settings
	if err := json.Unmarshal([]byte(os.Args[2]), &s); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return libraries[os.Args[1]](ctx, s)
}

func main() {
	topics, err := run()
	result := map[string]any{"topics": topics}
	if err != nil {
		result = map[string]any{"error": err.Error()}
	}
	slices.Sort(topics)
	text, _ := json.Marshal(result)
	fmt.Println(string(text))
}
