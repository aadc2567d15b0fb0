// Goroutines, preemption by signals, garbage collection, network: prints the same everywhere.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

func main() {
	var group sync.WaitGroup
	var mutex sync.Mutex
	total := 0
	for i := 0; i < 500; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			block := make([]byte, 20000)
			digest := sha256.Sum256(block[:i])
			time.Sleep(time.Duration(i%7) * time.Millisecond)
			mutex.Lock()
			total += int(digest[0])
			mutex.Unlock()
		}(i)
	}
	group.Wait()
	runtime.GC()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		connection, _ := listener.Accept()
		io.Copy(connection, connection)
		connection.Close()
	}()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	fmt.Fprint(connection, "over the loopback")
	connection.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(connection)
	output, err := exec.Command("echo", "child").Output()
	fmt.Println(total, string(answer), string(output), err)
}
