package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/acapcrawl/acapcrawl/internal/test/fakes3"
	"github.com/acapcrawl/acapcrawl/internal/test/geo"
	"github.com/acapcrawl/acapcrawl/internal/test/natstest"
	"github.com/acapcrawl/acapcrawl/internal/test/pagecheck"
	"github.com/acapcrawl/acapcrawl/internal/test/testweb"
)

// raceOptions is the environment variable that configures the race detector. The value fastRace
// prevents that each of the hundreds of processes sleeps for a second before it ends.
const raceOptions, fastRace = "GORACE", "atexit_sleep_ms=50"

// garbageOptions is the environment variable that configures the garbage collector. The value
// rareGarbage saves a quarter of the CPU time of a short process, most of it at its start.
const garbageOptions, rareGarbage = "GOGC", "400"

func TestMain(m *testing.M) {
	natstest.Main() // returns unless this process is a server
	for name, value := range map[string]string{raceOptions: fastRace, garbageOptions: rareGarbage} {
		if os.Getenv(name) == "" {
			os.Setenv(name, value)
		}
	}
	// Most tests of this package wait for processes, the disk or a pause, so four times as many run
	// in parallel. The flag -parallel overrides this.
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(joined{m}, map[string]func(){"acapcrawl": main, "hang": hang, "faulty": faulty, "rotate": rotate,
		aheadProgram: runAhead})
}

// joined fails after all tests if goroutines are still running: each verb must wait for what it started.
type joined struct{ m *testing.M }

// Run implements testscript.TestingM.
func (j joined) Run() int {
	before := goleak.IgnoreCurrent()
	status := j.m.Run()
	if err := goleak.Find(before); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, "After all tests:", err)
		return 1
	}
	return status
}

// TestScript runs the whole program in the scripts of testdata/script. In addition to the commands
// of testscript, they can use
//
//	site NAME DIR [HOST]      serve DIR on loopback; $NAME is its base URL, NAME.log its requests, a line each
//	                          (testweb), NAME.agents their User-Agents
//	await NAME PATTERN [N]    wait until N requests (1) of the site match
//	bucket NAME               start an object store; $NAME is its address, pages its bucket
//	bucket NAME versioning WORD, bucket NAME fails always|bodies|never, bucket NAME list FILE
//	                          change it, or write a line for each object into a file
//	release NAME              let the site answer the requests that it delays
//	status N COMMAND…         run a command that must end with exit status N
//	[!] jsonfield FILE PATH [VALUE]
//	                          the field at PATH (a.b.0.c) must exist, and be VALUE; if FILE has several JSON values,
//	                          the path starts with the number of one
//	expand FILE…              put the values of environment variables into files
//	let NAME FILE             set an environment variable to the trimmed content of the file
//	countries FILE NET=CODE…  write a database of the countries of networks
//	picture FILE W H          write an image of that size: JPEG or, by the name of FILE, transparent PNG
//	coloured FILE X Y RRGGBB  the image in FILE must have about that colour at X, Y
//	browser kill|gone DIR     kill the browser of that data directory; wait until no process of one is left
//
// FILE may be stdout or stderr. The condition chromium is true if Chromium is installed. Then
// $CHROMIUM is its path, and $SANDBOX says whether its sandbox works. The condition bash-completion
// is true if bash and the package bash-completion are installed.
//
// internal/test/scripts runs this test too. So here it runs only if the flag -run chooses it.
func TestScript(t *testing.T) {
	if flag.Lookup("test.run").Value.String() == "" {
		t.Skip("internal/test/scripts runs the scripts; here they run with -run TestScript")
	}
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:       "testdata/script",
		Setup:     setup,
		Cmds:      commands,
		Condition: condition,
	})
}

// condition evaluates the conditions of scripts that testscript does not know.
func condition(cond string) (bool, error) {
	switch cond {
	case "chromium":
		program, _ := pagecheck.FindChromium()
		return program != "", nil
	case "bash-completion":
		_, err := os.Stat("/usr/share/bash-completion/bash_completion")
		_, missing := exec.LookPath("bash")
		return err == nil && missing == nil, nil
	}
	return false, fmt.Errorf("unknown condition %s", cond)
}

type sitesKey struct{}

// setup gives a script its own home directories and a place for its sites.
func setup(env *testscript.Env) error {
	env.Values[sitesKey{}] = map[string]*testweb.Site{}
	for name, dir := range map[string]string{"HOME": "home", "XDG_DATA_HOME": "home/share",
		"XDG_CONFIG_HOME": "home/config"} {
		env.Setenv(name, filepath.Join(env.WorkDir, dir))
	}
	for _, name := range []string{raceOptions, garbageOptions} {
		env.Setenv(name, os.Getenv(name))
	}
	program, sandbox := pagecheck.FindChromium()
	env.Setenv("CHROMIUM", program)
	env.Setenv("SANDBOX", strconv.FormatBool(sandbox))
	env.Values[buckets{}] = map[string]*fakes3.Server{}
	return nil
}

var commands = map[string]func(*testscript.TestScript, bool, []string){
	"site": cmdSite, "await": cmdAwait, "release": cmdRelease,
	"status": cmdStatus, "jsonfield": cmdJSONField, "expand": cmdExpand, "let": cmdLet, "countries": cmdCountries,
	"picture":  cmdPicture,
	"coloured": cmdColoured, "browser": cmdBrowser, "bucket": cmdBucket,
}

func cmdSite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: site NAME DIR [HOST]")
	}
	host := "127.0.0.1"
	if len(args) == 3 {
		host = args[2]
	}
	log, err := os.Create(ts.MkAbs(args[0] + ".log"))
	ts.Check(err)
	site, err := testweb.Start(ts.MkAbs(args[1]), host, log)
	ts.Check(err)
	agents, err := os.Create(ts.MkAbs(args[0] + ".agents"))
	ts.Check(err)
	site.LogAgents(agents)
	ts.Defer(func() {
		site.Close()
		log.Close()
		agents.Close()
	})
	ts.Value(sitesKey{}).(map[string]*testweb.Site)[args[0]] = site
	ts.Setenv(args[0], site.URL)
}

func siteOf(ts *testscript.TestScript, name string) *testweb.Site {
	site := ts.Value(sitesKey{}).(map[string]*testweb.Site)[name]
	if site == nil {
		ts.Fatalf("there is no site %s", name)
	}
	return site
}

// patience is how long tests wait for an expected event. The limit is only reached by a test that
// hangs.
const patience = 3 * time.Minute

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: await NAME PATTERN [N]")
	}
	n := 1
	if len(args) == 3 {
		var err error
		n, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ts.Check(siteOf(ts, args[0]).Await(ctx, pattern.MatchString, n))
}

func cmdRelease(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: release NAME")
	}
	siteOf(ts, args[0]).Release()
}

func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got, err = exit.ExitCode(), nil
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func cmdJSONField(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: [!] jsonfield FILE PATH [VALUE]")
	}
	var values []any
	for d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0]))); ; {
		var v any
		err := d.Decode(&v)
		if err == io.EOF {
			break
		}
		ts.Check(err)
		values = append(values, v)
	}
	var root any = values
	if len(values) == 1 {
		root = values[0]
	}
	got, found := field(root, args[1])
	if len(args) == 3 {
		found = found && equal(got, args[2])
	}
	if found == neg {
		text, _ := json.Marshal(got)
		ts.Fatalf("%s: %s is %s", args[0], args[1], text)
	}
}

// field returns the value in v at a path of names and numbers. The empty path is v itself.
func field(v any, path string) (any, bool) {
	for path != "" {
		var step string
		step, path, _ = strings.Cut(path, ".")
		switch x := v.(type) {
		case map[string]any:
			// a name may contain dots
			value, ok := x[step]
			for !ok && path != "" {
				var more string
				more, path, _ = strings.Cut(path, ".")
				step += "." + more
				value, ok = x[step]
			}
			if !ok {
				return nil, false
			}
			v = value
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// equal compares got with text. text is JSON, or a plain string if it is not valid JSON.
func equal(got any, text string) bool {
	if s, ok := got.(string); ok && s == text {
		return true
	}
	var want any
	return json.Unmarshal([]byte(text), &want) == nil && reflect.DeepEqual(got, want)
}

func cmdExpand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE…")
	}
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), func(name string) string {
			if value := ts.Getenv(name); value != "" {
				return value
			}
			return fmt.Sprintf("$%s", name) // unchanged, because no variable has this name
		})
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}

func cmdLet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: let NAME FILE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

func cmdCountries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: countries FILE NET=CODE…")
	}
	list := map[string]string{}
	for _, arg := range args[1:] {
		network, code, _ := strings.Cut(arg, "=")
		list[network] = code
	}
	ts.Check(geo.Write(ts.MkAbs(args[0]), geo.Options{}, list))
}

func cmdColoured(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: coloured FILE X Y RRGGBB")
	}
	img, _, err := image.Decode(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	var at image.Point
	at.X, err = strconv.Atoi(args[1])
	ts.Check(err)
	at.Y, err = strconv.Atoi(args[2])
	ts.Check(err)
	want, err := hex.DecodeString(args[3])
	ts.Check(err)
	r, g, b, _ := img.At(at.X, at.Y).RGBA()
	for i, c := range []uint32{r, g, b} {
		if d := int(c>>8) - int(want[i]); d < -12 || d > 12 { // JPEG changes colours slightly
			ts.Fatalf("at %v it is %02x%02x%02x", at, r>>8, g>>8, b>>8)
		}
	}
}

func cmdBrowser(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || args[0] != "kill" && args[0] != "gone" {
		ts.Fatalf("usage: browser kill|gone DIR")
	}
	mine := []byte("--user-data-dir=" + ts.MkAbs(args[1]) + "/browser\x00")
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		n := 0
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		ts.Check(err)
		for _, file := range files {
			line, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(line, mine) {
				continue
			}
			if n++; args[0] == "kill" && !bytes.Contains(line, []byte("\x00--type=")) {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
				ts.Check(err)
				p, err := os.FindProcess(pid)
				ts.Check(err)
				ts.Check(p.Kill())
				return
			}
		}
		if args[0] == "gone" && n == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%d processes", n)
		}
	}
}

func cmdPicture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: picture FILE W H")
	}
	w, err := strconv.Atoi(args[1])
	ts.Check(err)
	h, err := strconv.Atoi(args[2])
	ts.Check(err)
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(i * 2654435761 >> 16)
	}
	var b bytes.Buffer
	if strings.HasSuffix(args[0], ".jpg") {
		err = jpeg.Encode(&b, img, nil)
	} else {
		err = png.Encode(&b, img)
	}
	ts.Check(err)
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(args[0])), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}
