// Package prose generates texts for benchmarks and tests. Words vary and repeat about as much as in
// a text that a person wrote.
package prose

import (
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Paragraphs returns paragraphs of at least bytes bytes together, in a language ("en", "de" or
// "zh"). The same seed returns the same text.
func Paragraphs(language string, seed uint64, bytes int) (list []string) {
	w := writer{rand.New(rand.NewPCG(seed, 1)), tongues[language]}
	for n := 0; n < bytes; n += len(list[len(list)-1]) {
		var b strings.Builder
		for range 2 + w.random.IntN(5) {
			if b.Len() > 0 {
				b.WriteString(w.blank)
			}
			b.WriteString(w.sentence())
		}
		list = append(list, b.String())
	}
	return list
}

// tongue is the vocabulary and the sentence patterns of a language.
type tongue struct {
	// patterns of sentences: n, v and a stand for a noun, a verb or an adjective with an ending,
	// and f for a frequent word
	patterns          []string
	frequent          []string
	nouns, verbs      []string
	qualities         []string
	n, v, a           []string // endings of nouns, verbs and adjectives
	blank, comma, end string
}

type writer struct {
	random *rand.Rand
	tongue
}

func (w writer) sentence() string {
	var b strings.Builder
	for _, kind := range w.patterns[w.random.IntN(len(w.patterns))] {
		word := ""
		switch kind {
		case ',':
			b.WriteString(w.comma)
			continue
		case 'n':
			word = w.pick(w.nouns) + w.pick(w.n)
		case 'v':
			word = w.pick(w.verbs) + w.pick(w.v)
		case 'a':
			word = w.pick(w.qualities) + w.pick(w.a)
		case 'f':
			word = w.pick(w.frequent)
		}
		if b.Len() > 0 {
			b.WriteString(w.blank)
		} else if first, n := utf8.DecodeRuneInString(word); w.blank != "" {
			word = string(unicode.ToUpper(first)) + word[n:]
		}
		b.WriteString(word)
	}
	b.WriteString(w.end)
	return b.String()
}

// pick returns a random word; words near the beginning of the list are more likely.
func (w writer) pick(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[min(w.random.IntN(len(words)), w.random.IntN(len(words)))]
}

// tongues are the languages by their codes.
var tongues = map[string]tongue{
	"en": {
		patterns: []string{"fanvfn", "fnvfafn", "fn,fvfn,vfan", "fffnvfn,fnfvfafn", "anvfnfn", "fanffnvffan,fvfnfn",
			"fvfnfan"},
		frequent: strings.Fields(`
			the of and to a in that is was he for it with as his on be at by had not are but from or have an they
			which one you were her all she there would their we him been has when who will more no if out so said
			what up its about into than them can only other new some could time these two may then do first any my
			now such like our over me even most made after also did many before must through back years where much
			your way well down should because each just those people how too little state good very make world still
			own see men work long get here between both life being under`),
		nouns: strings.Fields(`
			harbour tide engine garden letter river bridge market window village captain weather museum painter
			lantern orchard railway station archive barrel journal meadow teacher kitchen council factory forest
			machine island theatre question answer reader record season election budget farmer hospital student
			picture measure district concert library merchant valley carpenter pension festival citizen quarter
			contract surgeon witness chapter passage history century soldier mountain traveller company engineer
			reporter minister cottage highway printer sailor blanket pebble neighbour waterfall harvest horizon
			compass cabin granite umbrella mirror saddle tunnel whistle pocket violin basket cellar fountain helmet
			ladder quarry rudder turbine vessel warden yard zinc anchor beacon`),
		verbs: strings.Fields(`
			want ask report open follow carry collect gather measure mention travel repair answer paint record
			harvest consider discover explain publish return wander visit notice observe deliver build remain gain
			learn claim shift plant lift turn walk work start finish support counter gather press offer order wonder
			number light hammer question warn water bolt enter land sail store listen borrow protect demand attend
			appoint`),
		qualities: strings.Fields(`
			old quiet narrow bright heavy modern local early careful distant ancient gentle public severe simple
			sudden strange private rapid honest golden frequent formal eager domestic curious clever central calm
			broad bitter awkward annual absent proud rural silent steep tender urban vivid warm yellow brief cheap
			damp`),
		n: []string{"", "s"}, v: []string{"ed", "s", "ing", ""}, a: []string{"", "", "ly"},
		blank: " ", comma: ",", end: ".",
	},
	"de": {
		patterns: []string{"fanvfn", "fnvfafn", "fn,fffnv,vfan", "fffnvfn,fnfvfafn", "fanffnvffan,fvfnfn", "fvfnfan"},
		frequent: strings.Fields(`
			der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus
			er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber
			vor zur bis mehr durch man sein wurde sei hatte kann gegen vom können schon wenn habe seine ihre dann
			unter wir soll ich eines jahr zwei diese dieser wieder keine seiner worden will zwischen immer was sagte
			gibt alle weil müssen später ganz damit während heute`),
		nouns: strings.Fields(`
			Hafen Garten Brief Fluss Brücke Markt Fenster Dorf Kapitän Wetter Museum Maler Laterne Wiese Bahnhof
			Straße Lehrer Küche Fabrik Wald Maschine Insel Frage Antwort Leser Jahreszeit Wahl Haushalt Bauer
			Krankenhaus Schüler Bild Bezirk Konzert Bücherei Händler Tal Tischler Rente Fest Bürger Viertel Vertrag
			Zeuge Kapitel Geschichte Jahrhundert Gebirge Gesellschaft Berichterstatter Hütte Autobahn Drucker
			Seemann Nachbar Wasserfall Ernte Kompass Kabine Granit Spiegel Sattel Tunnel Pfeife Tasche Geige Korb
			Keller Brunnen Helm Leiter Steinbruch Ruder Turbine Schiff Wächter Hof Anker Überschwemmung Öffnung
			Gemälde`),
		verbs: strings.Fields(`
			frag mach sag hör kauf lern öffn folg trag sammel mess reis reparier antwort mal ernt entdeck erklär
			veröffentlich wander besuch bemerk beobacht liefer bau bleib pflanz dreh arbeit beend unterstütz drück
			warn lande segel hör leih schütz verlang führ grüß`),
		qualities: strings.Fields(`
			alt still schmal hell schwer neu örtlich früh sorgfältig fern sanft öffentlich streng einfach plötzlich
			seltsam privat schnell ehrlich golden häufig eifrig neugierig klug ruhig breit bitter jährlich stolz
			ländlich steil zart städtisch warm gelb kurz billig feucht groß grün müde`),
		n: []string{"", "", "s", "en"}, v: strings.Fields("t te en ten e"), a: strings.Fields("e en er es em"),
		blank: " ", comma: ",", end: ".",
	},
	"zh": {
		patterns: []string{"fanvfn", "fnvfafn", "fnfvfn,vfan", "fffnvfn,fnfvfafn", "anvfnfn", "fanfnvffan,fvfnfn"},
		frequent: strings.Fields(`
			的 了 在 是 和 有 不 我们 他 也 这 就 都 说 而 为 与 对 从 把 被 但 很 到 上 下 中 大 地 得 着 过 会 能 将 还 又 之 以 及 其 后 前 时 每 各 两 三 年 月`),
		nouns: strings.Fields(`
			港口 花园 信件 河流 桥梁 市场 窗户 村庄 船长 天气 博物馆 画家 灯笼 果园 铁路 车站 档案 日记 草地 老师 厨房 工厂 森林 机器 岛屿 剧院 问题 答案 读者 记录 季节 选举 预算
			农民 医院 学生 图画 地区 音乐会 图书馆 商人 山谷 木匠 节日 公民 合同 证人 章节 历史 世纪 士兵 高山 旅客 公司 工程师 记者 部长 小屋 公路 水手 邻居 瀑布 收成 指南针 花岗岩
			雨伞 镜子 隧道 口袋 提琴 篮子 地窖 喷泉 梯子 码头 地图 街道 城墙`),
		verbs: strings.Fields(`
			要求 报告 打开 跟随 收集 测量 提到 旅行 修理 回答 记载 考虑 发现 解释 出版 返回 访问 注意 观察 运送 建造 保持 学习 声称 种植 举起 转动 工作 开始 完成 支持 提供 命令
			警告 进入 航行 储存 倾听 保护 参加`),
		qualities: strings.Fields(`
			古老 安静 狭窄 明亮 沉重 现代 当地 早期 仔细 遥远 温和 公共 严厉 简单 突然 奇怪 私人 迅速 诚实 金色 经常 正式 好奇 聪明 宽阔 苦涩 骄傲 乡村 沉默 陡峭 温暖 黄色 简短
			便宜 潮湿`),
		comma: "，", end: "。",
	},
}
