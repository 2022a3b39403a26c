// SPDX-License-Identifier: Apache-2.0
// The suite of test/sdks (cases.mjs names the cases) with the official Go modules. A line a case: "ok NAME" or "not ok NAME: why".
// AZURE_STORAGE_CONNECTION_STRING names an empty server, ZAFFRE_ADMIN its admin listener, whose clock is moved.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

const (
	clients = 8
	rounds  = 10
	other   = "6fa459ea-ee8a-3ca4-894e-db77e160355e" // somebody else's lease
)

var (
	connection = os.Getenv("AZURE_STORAGE_CONNECTION_STRING")
	ctx        = context.Background()
)

// A case that does not hold panics; run tells it.
func fail(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func equal(got, want any) {
	if !reflect.DeepEqual(got, want) {
		fail("%v instead of %v", got, want)
	}
}

// The status and code that the service refused with.
func refusal(err error) (int, string) {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return answer.StatusCode, answer.ErrorCode
	}
	return 0, fmt.Sprint(err)
}

func refused[T any](status int, code string) func(T, error) {
	return func(_ T, err error) {
		gotStatus, gotCode := refusal(err)
		if gotStatus != status || gotCode != code {
			fail("%d %s instead of %d %s", gotStatus, gotCode, status, code)
		}
	}
}

func isCode(err error, code string) bool {
	_, got := refusal(err)
	return got == code
}

func to[T any](value T) *T { return &value }

func body(text string) io.ReadSeekCloser { return streaming.NopCloser(strings.NewReader(text)) }

func randomBytes(size int) []byte {
	out := make([]byte, size)
	must(rand.Read(out))
	return out
}

func readAll(from io.ReadCloser) string {
	defer from.Close()
	return string(must(io.ReadAll(from)))
}

func sameBytes(got, want []byte) {
	if !bytes.Equal(got, want) {
		fail("%d bytes differ from %d", len(got), len(want))
	}
}

func uniform(text string) {
	if len(text) != 1000 || strings.Trim(text, text[:1]) != "" {
		fail("a mixture of %d bytes", len(text))
	}
}

func advance(seconds int) {
	url := fmt.Sprintf("%s/test/clock?advance=%d", strings.TrimRight(os.Getenv("ZAFFRE_ADMIN"), "/"), seconds)
	answer := must(http.Post(url, "text/plain", nil))
	answer.Body.Close()
	equal(answer.StatusCode, 200)
}

// race runs work(number) in all clients at once; the panic of one of them is the panic of the case.
func race(work func(n int)) {
	var (
		group sync.WaitGroup
		start = make(chan struct{})
		fault = make(chan any, clients)
	)
	for n := 0; n < clients; n++ {
		group.Add(1)
		go func() {
			defer group.Done()
			defer func() {
				if why := recover(); why != nil {
					fault <- why
				}
			}()
			<-start
			work(n)
		}()
	}
	close(start)
	group.Wait()
	select {
	case why := <-fault:
		panic(why)
	default:
	}
}

// list of what racing clients did
type list[T any] struct {
	lock  sync.Mutex
	items []T
}

func (l *list[T]) add(item T) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.items = append(l.items, item)
}

func run(name string, work func()) (ok bool) {
	defer func() {
		if why := recover(); why != nil {
			text := strings.Join(strings.Fields(fmt.Sprint(why)), " ")
			fmt.Printf("not ok %s: %.300s\n", name, text)
			ok = false
		}
	}()
	work()
	fmt.Printf("ok %s\n", name)
	return true
}

func main() {
	good := true
	for _, c := range []struct {
		name string
		work func()
	}{
		{"blob everyday", blobEveryday}, {"blob optimistic", blobOptimistic}, {"blob pessimistic", blobPessimistic},
		{"blob last writer wins", blobLastWriter}, {"blob race", blobRace},
		{"container optimistic", containerOptimistic}, {"container pessimistic", containerPessimistic},
		{"container last writer wins", containerLastWriter}, {"shared access signature", sharedAccess},
		{"table everyday", tableEveryday}, {"table optimistic", tableOptimistic}, {"table any ETag", tableAny}, {"table race", tableRace},
		{"queue everyday", queueEveryday}, {"queue visibility", queueVisibility}, {"queue race", queueRace},
		{"queue last writer wins", queueLastWriter},
		{"file everyday", fileEveryday}, {"file last writer wins", fileLastWriter}, {"file lease", fileLease}, {"file race", fileRace},
	} {
		good = run(c.name, c.work) && good
	}
	if !good {
		os.Exit(1)
	}
}
