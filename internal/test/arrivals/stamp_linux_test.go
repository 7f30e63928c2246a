package arrivals

import (
	"context"
	"net"
	"testing"
	"time"
)

// The time of arrival is that of the kernel, however late the data is read.
func TestArrival(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{Control: stampArrivals}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	// The first data arrives before the connection is accepted.
	var server net.Conn
	for range 3 {
		before := time.Now()
		if _, err := client.Write([]byte("GET")); err != nil {
			t.Fatal(err)
		}
		after := time.Now()
		time.Sleep(100 * time.Millisecond) // a busy server
		if server == nil {
			if server, err = (stampingListener{l}).Accept(); err != nil {
				t.Fatal(err)
			}
			defer server.Close()
		}
		if n, err := server.Read(make([]byte, 10)); n != 3 || err != nil {
			t.Fatal(n, err)
		}
		const clocks = time.Millisecond // the two clocks are not read at the same instant
		if at := server.(*stampedConn).arrival(); at.Before(before.Add(-clocks)) || at.After(after.Add(clocks)) {
			t.Errorf("data of %v came %v later", before, at.Sub(before))
		}
	}
}
