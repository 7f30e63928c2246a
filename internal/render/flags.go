package render

import (
	"io"
	"os"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// flags returns the command line of Chromium. Chromium is controlled through a pipe, so other
// programs cannot control it, and it ends when the pipe is closed.
func flags(o Options, program string, said io.Writer, prepare func(*exec.Cmd)) []chromedp.ExecAllocatorOption {
	list := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(program), chromedp.NoInheritEnv, chromedp.CombinedOutput(said),
		chromedp.ModifyCmdFunc(prepare),
		chromedp.Env("PATH="+os.Getenv("PATH"), "HOME="+o.Home, "TMPDIR="+tempOf(o.Home), "LANG=C.UTF-8"),
		chromedp.UserDataDir(o.Home), chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("no-sandbox", o.Unguarded),
		// The following flags keep the browser from the network if this package does not answer a
		// request.
		chromedp.Flag("proxy-server", "http://nowhere.invalid:9"),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
		chromedp.Flag("dns-prefetch-disable", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		// the name of the same flag in older versions of Chromium
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("disable-features",
			"HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,OptimizationHints,MediaRouter,DialMediaRouteProvider,"+
				"Translate,AutofillServerCommunication,CertificateTransparencyComponentUpdater,"+
				"NetworkPrediction,Prerender2"),
		// The following flags disable services of the browser itself.
		chromedp.Flag("disk-cache-size", "1"),
	}
	for _, name := range []string{
		"disable-background-networking", "disable-breakpad", "disable-client-side-phishing-detection",
		"disable-component-extensions-with-background-pages", "disable-component-update",
		"disable-crash-reporter", "disable-default-apps", "disable-dev-shm-usage",
		"disable-domain-reliability", "disable-extensions", "disable-sync", "disable-notifications",
		"disable-remote-fonts", "disable-3d-apis", "deny-permission-prompts", "hide-scrollbars",
		"metrics-recording-only", "mute-audio", "no-pings", "no-service-autorun",
		"no-proxy-server-detection", "use-mock-keychain",
	} {
		list = append(list, chromedp.Flag(name, true))
	}
	return append(list, chromedp.Flag("password-store", "basic"), chromedp.Flag("force-color-profile", "srgb"))
}
