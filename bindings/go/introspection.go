package attnzoo

// introspection.go: what mechanisms there are, and what each has, as the library tells it.

/*
#include "shim.h"
*/
import "C"

import "strings"

// Description is what a mechanism is and has.
type Description struct {
	// Name is what [NewModule] takes; Summary is one line of English, Formula what is computed, Source the papers.
	Name, Summary, Formula, Source string
	// State is what the mechanism's states hold, for [State.Field]; empty where it carries none. Inputs and Outputs are
	// those of a [Call], Options those of [Option], Parameters those of [Parameter].
	Options, Parameters, Inputs, Outputs, State []Item
}

// Item is an option, a parameter, an input, an output or a field of states. What its kind does not have is empty.
type Item struct {
	// Name is the name by which functions take it; Summary is one line of English.
	Name, Summary string
	// Type is an option's: "float", "int", "bool" or "choice"; then its default, and the values it takes. Of an input, an
	// output or a field of states it is "float" (float32, Float16 or BFloat16) or "integer" (int32 or int64).
	Type, Default, Bounds string
	// Shape is such as "[B, H, N, D]".
	Shape string
	// IsRequired tells whether it may not be left out.
	IsRequired bool
}

// Mechanisms are the names of all mechanisms that the library has.
func Mechanisms() []string {
	names := make([]string, C.attnzoo_mechanism_count())
	for i := range names {
		names[i] = C.GoString(C.attnzoo_mechanism_name(C.int32_t(i)))
	}
	return names
}

// Describe tells all about a mechanism.
func Describe(mechanism string) (Description, error) {
	name, err := text("mechanism", mechanism)
	if err != nil {
		return Description{}, err
	}
	if C.attnzoo_item_count(name, C.ATTNZOO_ITEM_MECHANISM) < 0 {
		return Description{}, failure(UnknownName, "there is no mechanism %q, but %v", mechanism, Mechanisms())
	}
	tell := func(field int) string { return itemText(mechanism, C.ATTNZOO_ITEM_MECHANISM, 0, field) }
	return Description{
		Name:       tell(C.ATTNZOO_FIELD_NAME),
		Summary:    tell(C.ATTNZOO_FIELD_SUMMARY),
		Formula:    tell(C.ATTNZOO_FIELD_FORMULA),
		Source:     tell(C.ATTNZOO_FIELD_SOURCE),
		Options:    items(mechanism, C.ATTNZOO_ITEM_OPTION),
		Parameters: items(mechanism, C.ATTNZOO_ITEM_PARAMETER),
		Inputs:     items(mechanism, C.ATTNZOO_ITEM_INPUT),
		Outputs:    items(mechanism, C.ATTNZOO_ITEM_OUTPUT),
		State:      items(mechanism, C.ATTNZOO_ITEM_STATE),
	}, nil
}

// items lists those of a kind. Places of inputs and outputs that the mechanism does not have are left out.
func items(mechanism string, item int) []Item {
	var found []Item
	for index := 0; index < itemCount(mechanism, item); index++ {
		tell := func(field int) string { return itemText(mechanism, item, index, field) }
		if tell(C.ATTNZOO_FIELD_NAME) == "" {
			continue
		}
		found = append(found, Item{
			Name:       tell(C.ATTNZOO_FIELD_NAME),
			Summary:    tell(C.ATTNZOO_FIELD_SUMMARY),
			Type:       tell(C.ATTNZOO_FIELD_TYPE),
			Default:    tell(C.ATTNZOO_FIELD_DEFAULT),
			Bounds:     tell(C.ATTNZOO_FIELD_BOUNDS),
			Shape:      tell(C.ATTNZOO_FIELD_SHAPE),
			IsRequired: tell(C.ATTNZOO_FIELD_REQUIRED) == "yes",
		})
	}
	return found
}

// indexOf is the number, or the place, of an item by its name.
func indexOf(mechanism string, item int, name string) (int, bool) {
	for index := 0; index < itemCount(mechanism, item); index++ {
		if itemText(mechanism, item, index, C.ATTNZOO_FIELD_NAME) == name {
			return index, true
		}
	}
	return 0, false
}

// unknown is the error for a name that the mechanism does not have: it lists those there are.
func unknown(mechanism, what, name string, item int) error {
	var names []string
	for _, known := range items(mechanism, item) {
		names = append(names, known.Name)
	}
	return failure(UnknownName, "%s has no %s %q; it has %s", mechanism, what, name, strings.Join(names, ", "))
}

func itemCount(mechanism string, item int) int {
	name, err := text("mechanism", mechanism)
	if err != nil {
		return 0
	}
	return int(C.attnzoo_item_count(name, C.int32_t(item)))
}

// itemText is "" where there is no such text.
func itemText(mechanism string, item, index, field int) string {
	name, err := text("mechanism", mechanism)
	if err != nil {
		return ""
	}
	return C.GoString(C.attnzoo_item_text(name, C.int32_t(item), C.int32_t(index), C.int32_t(field)))
}
