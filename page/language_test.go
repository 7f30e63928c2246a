package page

import (
	"strings"
	"testing"
)

func TestLanguage(t *testing.T) {
	german, russian := strings.Repeat("Das Schiff fährt in den Hafen. ", 9),
		"Паром пришёл в гавань рано утром, и все пассажиры сошли на берег. "+
			"Капитан сказал, что вечером будет буря, поэтому корабль не пойдёт обратно до завтра."
	for _, c := range []struct{ name, header, body, certain, likely string }{
		{"declared", "", `<html lang="en-GB"><p>Der Hund`, "en", "en"},
		{"declared in XML", "", `<html xml:lang="DEU"><p>x`, "de", "de"},
		{"of three letters", "", `<html lang="ckb"><p>x`, "ckb", "ckb"},
		{"by the header", "de-AT", `<p>x`, "de", "de"},
		{"by its META", "", `<meta http-equiv="Content-Language" content="fr"><p>x`, "fr", "fr"},
		{"HTML first", "fr", `<html lang="de"><meta http-equiv=content-language content=es><p>x`, "de", "de"},
		{"the header before META", "fr", `<html lang=""><meta http-equiv=content-language content=es><p>x`, "fr", "fr"},
		{"a list of languages", "de, en", `<p>x`, "", ""},
		{"no language", "und", `<html lang="?"><meta http-equiv=content-language content=mul><p>12345`, "", ""},
		{"nothing to go by", "", `<p>12345`, "", ""},
		{"by the text", "", `<p>` + german, "de", "de"},
		{"another script", "", `<p>` + strings.Repeat("السفينة تدخل الميناء في الصباح ", 9), "ar", "ar"},
		{"Persian", "", `<p>کشتی بامداد از بندر بیرون می&zwnj;رود و شامگاه با مسافران باز می&zwnj;گردد. ` +
			`ناخدا گفت که فردا طوفان خواهد شد و کسی نباید به دریا برود.`, "fa", "fa"},
		{"Persian with much English", "",
			`<p>کشتی بامداد از بندر بیرون می&zwnj;رود و شامگاه با مسافران باز می&zwnj;گردد. ` +
				`The ferry leaves the harbour and returns with passengers.`, "fa", "fa"},
		{"a code of three letters for one of two", "", `<html lang="pes"><p>x`, "fa", "fa"},
		{"Mandarin", "", `<html lang="cmn-Hans"><p>x`, "zh", "zh"},
		{"kana", "", `<p>港は再び開かれ、最初の船が出ていきました。`, "ja", "ja"},
		{"the menu in another language", "", `<nav><ul>` + strings.Repeat("<li>The ships that come in with the tide",
			30) + `</ul></nav><main><p>` + german + `</main>`, "de", "de"},
		{"a declaration against the script", "", `<html lang="en"><p>` + russian, "ru", "ru"},
		{"the next one", "ru", `<html lang="en"><p>` + russian, "ru", "ru"},
		{"a few foreign words", "", `<html lang="en"><p>The ferry Паром.`, "en", "en"},
		{"written in two scripts", "", `<html lang="sr"><p>` + strings.Repeat("Brod ulazi u luku rano ujutru. ", 9),
			"sr", "sr"},
		{"uncertain", "", `<p>Skibet ligger ved kajen og venter på tidevandet i morgen tidlig`, "", "nb"},
		{"a few words", "", `<p>Ferry fog Alma mole.`, "", ""},
		{"Japanese with much English", "",
			`<p>電源管理は難しいことが多い。ACPI (Advanced Configuration and Power Interface) に対応した機械では、静かに眠らせることができます。`, "ja", "ja"},
		{"Chinese with some English", "", `<p>港口的渡轮每天早上从码头出发，晚上回来。The ferry of the harbour is called Guillemot.`, "zh",
			"zh"},
		{"Korean with some English", "",
			`<p>항구의 배는 아침마다 부두를 떠나 저녁에 돌아온다. The ferry of the harbour is called Guillemot.`, "ko", "ko"},
		{"Russian with much English", "", "<p>" + russian + strings.Repeat(" the ferry leaves harbour", 8), "ru", "ru"},
		{"English with a Japanese name", "", `<p>` +
			strings.Repeat("The ferry of the harbour is called Tide and leaves in the morning. ", 3) + `かもめ丸`, "en",
			"en"},
		{"Russian without a declaration", "", "<p>" + russian, "ru", "ru"},
	} {
		p := New([]Hop{{URL: address, Header: map[string][]string{"Content-Type": {"text/html; charset=utf-8"},
			"Content-Language": {c.header}}, Body: []byte(c.body)}})
		if got := p.Language(); got != c.certain {
			t.Errorf("%s: %q", c.name, got)
		}
		if got := p.LikelyLanguage(); got != c.likely {
			t.Errorf("%s: likely %q", c.name, got)
		}
	}
}
