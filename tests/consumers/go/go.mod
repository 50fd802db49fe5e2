module attnzoo/consumer

go 1.19
