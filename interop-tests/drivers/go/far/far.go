// Package far is the far end of drivers/remote.py for Go: one JSON request a line on standard input, one JSON
// answer a line on standard output.
package far

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Timeout bounds every operation of a driver.
const Timeout = 30 * time.Second

// Bytes is a key or a value; nil is null and travels as such.
type Bytes []byte

type wrapped struct {
	Content []byte `json:"bytes"`
}

// MarshalJSON writes an object with the bytes in base64, or null.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("null"), nil
	}
	return json.Marshal(wrapped{b})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var content *wrapped
	if err := json.Unmarshal(text, &content); err != nil {
		return err
	}
	*b = nil
	if content != nil {
		*b = append(Bytes{}, content.Content...)
	}
	return nil
}

// Header is one header of a record; it travels as a pair.
type Header struct {
	Key   string
	Value Bytes
}

// MarshalJSON writes the pair.
func (h Header) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{h.Key, h.Value})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (h *Header) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&h.Key, &h.Value})
}

// Record is a record as Python's drivers.base has it.
type Record struct {
	Value     Bytes    `json:"value"`
	Key       Bytes    `json:"key"`
	Headers   []Header `json:"headers"`
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
}

// Error is an error that the broker answered.
type Error struct {
	Code  int
	Cause error
}

func (e Error) Error() string { return e.Cause.Error() }

type answer struct {
	Result any    `json:"result"`
	Code   *int   `json:"code,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Serve answers requests with the methods of a driver until standard input ends. A method is called by its name
// in Python's style. It may take a context first, which ends after Timeout; it returns an error, or a result and
// an error. What the broker refused is an Error.
func Serve(driver any) {
	requests := bufio.NewReader(os.Stdin)
	for {
		line, err := requests.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		result, err := call(driver, line)
		said := answer{Result: result}
		if err != nil {
			said.Error = err.Error()
			if refused, ok := errors.AsType[Error](err); ok {
				said.Code = &refused.Code
			}
		}
		text, err := json.Marshal(said)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", text)
	}
}

func call(driver any, line []byte) (any, error) {
	var operation string
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &[]any{&operation, &raw}); err != nil {
		return nil, err
	}
	method := reflect.ValueOf(driver).MethodByName(exported(operation))
	if !method.IsValid() {
		return nil, fmt.Errorf("no operation %s", operation)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	given, err := arguments(ctx, method.Type(), raw)
	if err != nil {
		return nil, err
	}
	results := method.Call(given)
	err, _ = results[len(results)-1].Interface().(error)
	if len(results) == 1 || err != nil {
		return nil, err
	}
	return results[0].Interface(), nil
}

// arguments reads what a method takes; arguments that were left out at the end are zero.
func arguments(ctx context.Context, method reflect.Type, raw []json.RawMessage) ([]reflect.Value, error) {
	var given []reflect.Value
	if method.NumIn() > 0 && method.In(0) == reflect.TypeFor[context.Context]() {
		given = append(given, reflect.ValueOf(ctx))
	}
	for _, text := range raw {
		argument := reflect.New(method.In(len(given)))
		if err := json.Unmarshal(text, argument.Interface()); err != nil {
			return nil, err
		}
		given = append(given, argument.Elem())
	}
	for len(given) < method.NumIn() {
		given = append(given, reflect.Zero(method.In(len(given))))
	}
	return given, nil
}

func exported(operation string) string {
	var name strings.Builder
	for _, word := range strings.Split(operation, "_") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// Inbox is what a member has been given so far.
type Inbox struct {
	mutex   sync.Mutex
	records []Record
}

// Add appends records.
func (i *Inbox) Add(records ...Record) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.records = append(i.records, records...)
}

// Records is a copy of everything there is.
func (i *Inbox) Records() []Record {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return append([]Record{}, i.records...)
}

var names atomic.Int64

// NewName makes a name that this process has not used.
func NewName(kind string) string {
	return fmt.Sprintf("%s-%d", kind, names.Add(1))
}
