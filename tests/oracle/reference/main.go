// The reference implementation of HCL 1 behind a pipe: documents come in, what it makes of them goes out.
//
// Both directions are frames: four bytes of length, the most significant first, then the content. A
// request is a document; its answer is a JSON object with exactly one of these forms:
//
//	{"refused": TEXT}                                 the parser refuses the document
//	{"items": [ITEM...]}                              the parser's tree
//	{"items": [ITEM...], "undecodable": TEXT}         the tree cannot become the map that the
//	                                                  configuration is decoded from
//	{"panic": TEXT}                                   the implementation panics
//
// An ITEM is {"keys": [[TEXT, QUOTED]...], "assigned": BOOL, "value": VALUE}. A VALUE has one member:
// "string", or "bytes" (hexadecimal) of one that is not UTF-8, "integer" (text), "float" (the bits in
// hexadecimal), "bool", "list", "object" (items), or "wrong" for a literal that has no value. A document on which the implementation works for too long ends this process with exit
// code 3.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/token"
)

const patience = 10 * time.Second

type object = map[string]interface{}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func serve(from io.Reader, to io.Writer) error {
	reader := bufio.NewReader(from)
	for {
		var length uint32
		err := binary.Read(reader, binary.BigEndian, &length)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		document := make([]byte, length)
		if _, err := io.ReadFull(reader, document); err != nil {
			return err
		}
		watchdog := time.AfterFunc(patience, func() { os.Exit(3) })
		answer := examine(string(document))
		watchdog.Stop()
		content, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		frame := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
		if _, err := to.Write(append(frame, content...)); err != nil {
			return err
		}
	}
}

func examine(document string) (answer object) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = object{"panic": text(fmt.Sprint(cause))}
		}
	}()
	file, err := hcl.Parse(document)
	if err != nil {
		return object{"refused": text(err.Error())}
	}
	root, ok := file.Node.(*ast.ObjectList)
	if !ok {
		return object{"refused": fmt.Sprintf("the root is a %T", file.Node)}
	}
	answer = object{"items": items(root)}
	var decoded map[string]interface{}
	// As the original does it: from the text, into a map without any shape.
	if err := hcl.Decode(&decoded, document); err != nil {
		answer["undecodable"] = text(err.Error())
	}
	return answer
}

// Error texts may hold any bytes of the document.
func text(content string) string { return strconv.QuoteToASCII(content) }

func items(list *ast.ObjectList) []object {
	all := []object{}
	for _, item := range list.Items {
		keys := [][2]interface{}{}
		for _, key := range item.Keys {
			quoted := key.Token.Type == token.STRING
			keys = append(keys, [2]interface{}{stringValue(key.Token.Value().(string)), quoted})
		}
		all = append(all, object{"keys": keys, "assigned": item.Assign.IsValid(), "value": value(item.Val)})
	}
	return all
}

func value(node ast.Node) object {
	switch node := node.(type) {
	case *ast.ObjectType:
		return object{"object": items(node.List)}
	case *ast.ListType:
		elements := []object{}
		for _, element := range node.List {
			elements = append(elements, value(element))
		}
		return object{"list": elements}
	case *ast.LiteralType:
		// The decoder's reading counts, not the token's: they are different code.
		var decoded interface{}
		if err := hcl.DecodeObject(&decoded, node); err != nil {
			return object{"wrong": text(err.Error())}
		}
		return plain(decoded)
	default:
		return object{"wrong": fmt.Sprintf("a %T", node)}
	}
}

func plain(decoded interface{}) object {
	switch decoded := decoded.(type) {
	case string:
		return stringValue(decoded)
	case int:
		return object{"integer": strconv.Itoa(decoded)}
	case float64:
		return object{"float": fmt.Sprintf("%016x", math.Float64bits(decoded))}
	case bool:
		return object{"bool": decoded}
	default:
		return object{"wrong": fmt.Sprintf("a %T", decoded)}
	}
}

func stringValue(content string) object {
	if utf8.ValidString(content) {
		return object{"string": content}
	}
	return object{"bytes": hex.EncodeToString([]byte(content))}
}
