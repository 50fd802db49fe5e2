"""The version of the package, which is that of the library it came with. Read by the build, without the library."""

version = "1.0.0"
