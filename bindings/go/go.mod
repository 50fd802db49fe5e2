module attnzoo

go 1.19
