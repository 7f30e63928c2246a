package page

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
)

// maxXMP is the maximum size of the metadata of an image, in bytes. Larger metadata is not read.
const maxXMP = 1 << 20

// xmpOf returns the XMP packet embedded in a JPEG, PNG, WebP or TIFF; nil if there is none, or if
// there are several and none is preferred. It recognises the format by the bytes. Its running time
// is linear in the size of the image, whatever lengths the file declares.
func xmpOf(image []byte) []byte {
	var packets [][]byte
	switch {
	case bytes.HasPrefix(image, []byte("\xff\xd8\xff")):
		packets = xmpOfJPEG(image)
	case bytes.HasPrefix(image, []byte("\x89PNG\r\n\x1a\n")):
		packets = xmpOfPNG(image)
	case len(image) >= 12 && string(image[:4]) == "RIFF" && string(image[8:12]) == "WEBP":
		packets = xmpOfWebP(image)
	case bytes.HasPrefix(image, []byte("II*\x00")):
		packets = xmpOfTIFF(image, binary.LittleEndian)
	case bytes.HasPrefix(image, []byte("MM\x00*")):
		packets = xmpOfTIFF(image, binary.BigEndian)
	}
	if len(packets) != 1 || len(packets[0]) > maxXMP {
		return nil
	}
	return packets[0]
}

// xmpOfJPEG returns the packets in the APP1 segments before the picture (XMP Specification Part 3,
// 1.1.3).
func xmpOfJPEG(b []byte) (packets [][]byte) {
	const app1, startOfScan, endOfImage, fill = 0xe1, 0xda, 0xd9, 0xff
	for len(b) >= 4 && b[0] == 0xff {
		marker := b[1]
		switch {
		case marker == fill:
			b = b[1:]
			continue
		case marker >= 0xd0 && marker <= 0xd8, marker == 0x01: // markers without a segment
			b = b[2:]
			continue
		case marker == startOfScan, marker == endOfImage:
			return packets
		}
		end := 2 + int(binary.BigEndian.Uint16(b[2:]))
		if end < 4 || end > len(b) {
			return packets
		}
		if packet, ok := bytes.CutPrefix(b[4:end], []byte("http://ns.adobe.com/xap/1.0/\x00")); ok && marker == app1 {
			packets = append(packets, packet)
		}
		b = b[end:]
	}
	return packets
}

// xmpOfPNG returns the packets in iTXt chunks with XMP's keyword, compressed or not (PNG 11.3.3.4).
func xmpOfPNG(b []byte) (packets [][]byte) {
	for b = b[8:]; len(b) >= 12; {
		length := uint64(binary.BigEndian.Uint32(b))
		if length > uint64(len(b))-12 {
			return packets
		}
		data := b[8 : 8+length]
		if rest, ok := bytes.CutPrefix(data, []byte("XML:com.adobe.xmp\x00")); ok && string(b[4:8]) == "iTXt" {
			packets = append(packets, textOfPNG(rest))
			if len(packets) > 1 {
				return packets
			}
		}
		b = b[12+length:]
	}
	return packets
}

// textOfPNG returns the text of an iTXt chunk after its keyword, nil if it cannot be read.
func textOfPNG(b []byte) []byte {
	if len(b) < 2 {
		return nil
	}
	compressed, method := b[0], b[1]
	_, b, _ = bytes.Cut(b[2:], []byte{0}) // skip the language
	_, b, ok := bytes.Cut(b, []byte{0})   // skip the translated keyword
	switch {
	case !ok, compressed > 1, compressed == 1 && method != 0:
		return nil
	case compressed == 0:
		return b
	}
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(z, maxXMP+1))
	if err != nil {
		return nil
	}
	return text
}

// xmpOfWebP returns the packets in the chunks of a RIFF file, each padded to an even length.
func xmpOfWebP(b []byte) (packets [][]byte) {
	for b = b[12:]; len(b) >= 8; {
		length := uint64(binary.LittleEndian.Uint32(b[4:]))
		if length > uint64(len(b))-8 {
			return packets
		}
		if string(b[:4]) == "XMP " {
			packets = append(packets, b[8:8+length])
		}
		b = b[min(8+length+length&1, uint64(len(b))):]
	}
	return packets
}

// xmpOfTIFF returns the packets in the XMP field of the first directory (XMP Specification Part 3,
// 1.1.5).
func xmpOfTIFF(b []byte, order binary.ByteOrder) (packets [][]byte) {
	const xmp, entry = 700, 12
	if len(b) < 8 {
		return nil
	}
	at := uint64(order.Uint32(b[4:]))
	if at+2 > uint64(len(b)) {
		return nil
	}
	directory := b[at+2:]
	for range order.Uint16(b[at:]) {
		if len(directory) < entry {
			return packets
		}
		if order.Uint16(directory) == xmp {
			// sizes of the types byte, text and undefined
			size := map[uint16]uint64{1: 1, 2: 1, 7: 1}[order.Uint16(directory[2:])]
			length, from := size*uint64(order.Uint32(directory[4:])), uint64(order.Uint32(directory[8:]))
			if length <= 4 || from+length > uint64(len(b)) {
				return nil
			}
			packets = append(packets, b[from:from+length])
		}
		directory = directory[entry:]
	}
	return packets
}
