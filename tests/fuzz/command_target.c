/*
 * command_target.c: the input is a command line, one word a line, and, behind an empty line, a file that it may name:
 * given.npy, given.safetensors or given.txt. The command's own main() runs on it in a folder of its own. It must end
 * with a status that it promises; where that is not success there is one line on standard error that says why, and no
 * file is new, changed or gone; where it is, only files that the command line names are.
 */
#include "command_folder.h"
#include "target.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* tools/main.c, whose main() is called so here. */
int attnzoo_command_main(int argument_count, char **arguments);

enum { WORD_MAX = 48, TEXT_SIZE = 1 << 14 };

struct command_line {
    int count;
    char *words[WORD_MAX + 1];
};

int LLVMFuzzerInitialize(int *argument_count, char ***arguments)
{
    (void)argument_count;
    (void)arguments;
    /* Nothing is shown while it works, whatever the fuzzer's terminal is. */
    setenv("TERM", "dumb", 1);
    command_folder_create();
    return 0;
}

/* No path may lead out of the folder: a slash is kept behind the name of the folder in it, and between digits, where it
 * is a part of N; nothing there is called like a number. */
static bool may_stay(const char *word, const char *slash)
{
    static const char inner[] = "folder";
    const ptrdiff_t length = sizeof inner - 1;
    if (slash == word || memchr(word, '/', (size_t)(slash - word)) != NULL || strstr(word, "..") != NULL)
        return false;
    return (isdigit((unsigned char)slash[-1]) && isdigit((unsigned char)slash[1])) ||
           (slash - word >= length && memcmp(slash - length, inner, (size_t)length) == 0);
}

static void confine(char *word)
{
    for (char *slash = strchr(word, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        if (!may_stay(word, slash))
            *slash = '_';
    }
}

/* Cuts the text into words, and returns where the file begins that comes behind them. */
static size_t cut(struct command_line *line, char *text, size_t size)
{
    size_t place = 0;
    *line = (struct command_line){.count = 1, .words = {"attnzoo"}};
    while (place < size && text[place] != '\n' && line->count < WORD_MAX) {
        line->words[line->count++] = text + place;
        place += strcspn(text + place, "\n");
        if (place >= size || text[place] == '\0')
            break;
        text[place++] = '\0';
    }
    for (int index = 1; index < line->count; index++)
        confine(line->words[index]);
    return place < size ? place + 1 : size;
}

/* Repeats its work for a second, which is too long here. */
static bool takes_long(const struct command_line *line)
{
    for (int index = 1; index < line->count; index++)
        if (strcmp(line->words[index], "--time") == 0)
            return true;
    return false;
}

/* The word itself, or what stands behind its first "=", is the name. */
static bool names(const char *name, void *context)
{
    const struct command_line *line = context;
    for (int index = 1; index < line->count; index++) {
        const char *word = line->words[index], *value = strchr(word, '=');
        if (strcmp(word, name) == 0 || (value != NULL && strcmp(value + 1, name) == 0))
            return true;
        /* What goes to a link changes what it leads to. */
        bool is_given = strncmp(value != NULL ? value + 1 : word, "given.", 6) == 0;
        if (is_given && strcmp(name, "given.npy") == 0)
            return true;
    }
    return false;
}

/* A stream for what the command prints, which is read back by its descriptor. */
static FILE *open_stream(void)
{
    int descriptor = memfd_create("printed", MFD_CLOEXEC);
    require(descriptor >= 0);
    FILE *stream = fdopen(descriptor, "w");
    require(stream != NULL);
    return stream;
}

static void read_back(FILE *stream, char *text)
{
    require(fflush(stream) == 0);
    ssize_t length = pread(fileno(stream), text, TEXT_SIZE - 1, 0);
    require(length >= 0);
    text[length] = '\0';
}

/* One line, as the command promises: nothing in it moves the cursor or ends it early. */
static bool is_one_line(const char *text)
{
    size_t length = strlen(text);
    if (strncmp(text, "attnzoo: ", 9) != 0 || length < 11 || text[length - 1] != '\n')
        return false;
    for (size_t index = 0; index + 1 < length; index++)
        if ((unsigned char)text[index] < ' ' || text[index] == 0x7f)
            return false;
    return true;
}

static int run(struct command_line *line, char *printed, char *complaint)
{
    FILE *output = open_stream(), *problems = open_stream();
    FILE *const outputs_before = stdout, *const problems_before = stderr;
    stdout = output;
    stderr = problems;
    int status = attnzoo_command_main(line->count, line->words);
    stdout = outputs_before;
    stderr = problems_before;
    read_back(output, printed);
    read_back(problems, complaint);
    fclose(output);
    fclose(problems);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char printed[TEXT_SIZE], complaint[TEXT_SIZE];
    struct command_line line;
    char *text = malloc(size + 1);
    require(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    size_t rest = cut(&line, text, size);
    if (takes_long(&line)) {
        free(text);
        return 0;
    }
    command_folder_enter();
    command_folder_write_given(data + rest, size - rest);
    int status = run(&line, printed, complaint);
    bool is_changed, is_compared = line.count > 1 && strcmp(line.words[1], "compare") == 0;
    command_folder_tidy(names, &line, &is_changed);
    command_folder_leave();
    require(status >= 0 && status <= 2);
    if (status != 0) {
        require(!is_changed);
        require(is_one_line(complaint) || (status == 1 && is_compared && complaint[0] == '\0' && printed[0] != '\0'));
    } else {
        require(complaint[0] == '\0' || is_one_line(complaint));
        require(is_changed || printed[0] != '\0');
    }
    free(text);
    return 0;
}
