package attnzoo_test

// documentation_test.go: that go doc has something to say of everything.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"
)

// undocumented are the exported names of a declaration without a comment of their own or, for values, of their group.
func undocumented(declaration ast.Decl) []string {
	var names []string
	check := func(identifiers []*ast.Ident, comments ...*ast.CommentGroup) {
		for _, comment := range comments {
			if comment != nil {
				return
			}
		}
		for _, identifier := range identifiers {
			if identifier.IsExported() {
				names = append(names, identifier.Name)
			}
		}
	}
	if function, ok := declaration.(*ast.FuncDecl); ok {
		check([]*ast.Ident{function.Name}, function.Doc)
		return names
	}
	group := declaration.(*ast.GenDecl)
	for _, specification := range group.Specs {
		switch each := specification.(type) {
		case *ast.ValueSpec:
			check(each.Names, group.Doc, each.Doc, each.Comment)
		case *ast.TypeSpec:
			check([]*ast.Ident{each.Name}, group.Doc, each.Doc)
			if structure, ok := each.Type.(*ast.StructType); ok {
				for _, field := range structure.Fields.List {
					check(field.Names, field.Doc, field.Comment)
				}
			}
		}
	}
	return names
}

func TestEverythingExportedHasAComment(t *testing.T) {
	isSource := func(file fs.FileInfo) bool { return !strings.HasSuffix(file.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", isSource, parser.ParseComments)
	if err != nil || packages["attnzoo"] == nil {
		t.Fatal(err, packages)
	}
	for name, file := range packages["attnzoo"].Files {
		for _, declaration := range file.Decls {
			for _, missing := range undocumented(declaration) {
				t.Errorf("%s: %s has no comment", name, missing)
			}
		}
	}
}
