/*
 * usage_text.c: the words of the help texts. tests/tools/test_help.py runs the examples and holds the options to those
 * that the command takes.
 */
#include "usage_text.h"

#include <stddef.h>

#define END                                                                                                            \
    {                                                                                                                  \
        NULL, NULL                                                                                                     \
    }

static const struct usage_entry commands[] = {
    {"list [FILE]", "the mechanisms, or the tensors of a file, one a line"},
    {"describe MECHANISM", "formula, options, parameters, inputs, outputs and state"},
    {"run MECHANISM ...", "computes context, attention weights, a heat map"},
    {"compare A B", "how far two arrays are apart"},
    {"glimpse KIND ...", "arrays of text, pictures and sound; attention drawn on one"},
    {"help [COMMAND]", "this text, or that of a command, as COMMAND --help"},
    {"--version", "the version, and what the library is built with"},
    END,
};

static const struct usage_entry files[] = {
    {"F.npy", "a NumPy array: float32, float16, bool, int32, int64"},
    {"F.safetensors:NAME", "a tensor: F32, F16, BF16, BOOL, I32, I64"},
    END,
};

static const struct usage_section overview_sections[] = {{"Commands", commands}, {"Files", files}, END};

static const char *const overview_examples[] = {
    "attnzoo describe multi_head",
    "attnzoo run scaled_dot_product --query query.npy --key key.npy \\",
    "    --value value.npy --causal --context context.npy --heatmap heat.png",
    NULL,
};

static const struct usage_entry inputs[] = {
    {"--query F", "what is looked for; required, as --key and --value are by most mechanisms"},
    {"--key F", "what it is found by"},
    {"--value F", "what is found"},
    {"--position F", "the position table, where the mechanism has one"},
    {"--input NAME=F", "any input by its name; --query F is short for --input query=F; once for each"},
    {"--past-key F", "put in front of the key; where keys are [B, G, M, D]"},
    {"--past-value F", "put in front of the value"},
    {"--state-in F", "a .safetensors file, the state to go on from: a cache of keys and values, or an alignment"},
    END,
};

static const struct usage_entry weights[] = {
    {"--set NAME=VALUE", "an option of the mechanism; once for each; num_heads is 1 if not set, and no weight file "
                         "tells it"},
    {"--weights F", "a .safetensors file, the parameters by their names"},
    {"--prefix STR",
     "what stands before each parameter's name in it; tensors whose names begin otherwise are left out; "
     "'attnzoo list F' tells the names"},
    {"--rename RULE", "what names in it mean, behind the prefix; as often as needed, RULE being one of"},
    {"  OLD=NEW", "the tensor OLD is the parameter NEW"},
    {"  OLD=", "the tensor OLD is left out"},
    {"  'OLD.*=NEW.*'", "the same for all names that fit; * stands for any text"},
    {"  'OLD[A:B]=NEW'", "rows A to B - 1 of OLD, as of query, key and value in one tensor"},
    {"  'OLD[I/N]=NEW'", "part I (from 1) of N equal parts of OLD's rows"},
    {"  pytorch", "the names of torch.nn.MultiheadAttention (in_proj_weight, ...)"},
    {"  huggingface", "names in the transformers library (q_proj, query, q_lin, ..., o_proj, ...)"},
    END,
};

static const struct usage_entry masks[] = {
    {"--causal", "keys up to the query's own position"},
    {"--window L,R", "keys from L before to R after the query's position; -1 is no limit"},
    {"--key-lengths F", "[B]: only the first keys of each batch"},
    {"--query-lengths F", "[B]: only the first queries of each batch see anything"},
    {"--mask F", "true = may be seen; broadcasts to [B, H, N, M]"},
    {"--segments F", "[B, M]: keys with the query's own segment id"},
    END,
};

static const struct usage_entry biases[] = {
    {"--bias F", "broadcasts to [B, H, N, M]; -infinity hides"},
    {"--alibi F", "[H]: minus this slope times the distance between query and key"},
    END,
};

static const struct usage_entry positions[] = {
    {"--align WHERE", "which query stands at which key, WHERE being one of"},
    {"  bottom-right", "the last query at the last key, so that offset is M - N (default)"},
    {"  top-left", "the first query at the first key, so that offset is 0"},
    {"  lengths", "offset is key length - query length, batch by batch"},
    {"--query-offset N|F", "the offset itself: one number, or a file with one, or with one a batch [B]"},
    END,
};

static const struct usage_entry outputs[] = {
    {"--context F", "the result; required"},
    {"--attention F", "the weight of each key for each query"},
    {"--output NAME=F", "any output by its name, as far as the mechanism has it; once for each"},
    {"--state-out F", "a .safetensors file, the state after the call; may be that of --state-in"},
    {"--heatmap F",
     "a .png file, a picture of the attention, a panel a head: the first 32 heads, or of several batches the first 8 "
     "heads of the first 4"},
    {"--query-labels F",
     "a text file in UTF-8, one line a query, to stand beside the rows of the picture; what is longer than about 17 "
     "letters is cut, and rows too low for a label each have every second, fifth or tenth"},
    {"--key-labels F", "the same for keys, below its columns; labels are drawn from left to right, letter by letter, "
                       "so that Arabic or Hebrew is not as it should be, unless libgd is built with raqm"},
    END,
};

static const struct usage_entry manner[] = {
    {"--threads N", "threads that work, 0 (the default) for as many as the process may use"},
    {"--time", "calls again for about a second, each time from the same state, and prints the wall time of a call"},
    {"--help", "this text; behind a mechanism, what that one takes; so does -h"},
    {"--", "the end of the options"},
    END,
};

static const struct usage_section run_sections[] = {
    {"What goes in", inputs},
    {"Options and weights of the mechanism", weights},
    {"What a query may see: a key must pass everything that is given here", masks},
    {"What is added to the scores", biases},
    {"Where query i stands: at offset + i, key j at j", positions},
    {"What comes out", outputs},
    {"How", manner},
    END,
};

static const char *const run_examples[] = {
    "attnzoo run scaled_dot_product --query query.npy --key key.npy \\",
    "    --value value.npy --causal --context context.npy",
    "attnzoo run multi_head --query tokens.npy --key tokens.npy \\",
    "    --value tokens.npy --weights model.safetensors \\",
    "    --prefix layers.0.self_attn. --rename pytorch --set num_heads=4 \\",
    "    --context context.npy --heatmap heat.png --key-labels words.txt",
    NULL,
};

static const struct usage_entry describe_arguments[] = {
    {"MECHANISM", "one of those that 'attnzoo list' prints"},
    {"--help", "this text"},
    END,
};

static const struct usage_section describe_sections[] = {{"Arguments", describe_arguments}, END};

static const char *const describe_examples[] = {"attnzoo describe location_aware", NULL};

static const struct usage_entry list_arguments[] = {
    {"FILE", "a .safetensors or .npy file"},
    {"--help", "this text"},
    END,
};

static const struct usage_section list_sections[] = {{"Arguments", list_arguments}, END};

static const char *const list_examples[] = {"attnzoo list", "attnzoo list model.safetensors", NULL};

static const struct usage_entry compare_arguments[] = {
    {"A, B", "the arrays, .npy or FILE.safetensors:NAME; B is the one that A is measured by"},
    {"--absolute-tolerance T", "how far elements may be apart (default 0: not at all)"},
    {"--relative-tolerance R", "how much more they may be apart, as a part of B's element (default 0)"},
    {"--help", "this text"},
    {"--", "the end of the options: a name behind it may begin with -"},
    END,
};

static const struct usage_entry compare_rules[] = {
    {NULL, "Two elements agree where |A - B| <= T + R |B|. NaN agrees with NaN and with nothing else, an infinity with "
           "the same one. Shapes must be the same; element types may differ, as values are compared."},
    END,
};

static const struct usage_entry compare_measures[] = {
    {"absolute difference", "|A - B|"},
    {"relative difference", "|A - B| / |B|: inf where B is 0 and A is not"},
    {NULL, "The largest is that of the elements which are numbers in both arrays; nan, where these are equal but a NaN "
           "stands in one array alone."},
    END,
};

static const struct usage_entry compare_statuses[] = {
    {"0", "all elements agree"},
    {"1", "some do not, or the shapes differ, as told on standard output; or a file could not be read, as told on "
          "standard error, with nothing on standard output"},
    {"2", "the command line is wrong"},
    END,
};

static const struct usage_section compare_sections[] = {{"Arguments", compare_arguments},
                                                        {"What is measured", compare_measures},
                                                        {"What agrees", compare_rules},
                                                        {"Exit status", compare_statuses},
                                                        END};

static const char *const compare_examples[] = {
    "attnzoo compare context.npy expected.npy --absolute-tolerance 1e-5",
    "attnzoo compare model.safetensors:layers.0.norm1.weight \\",
    "    model.safetensors:layers.0.norm2.weight",
    NULL,
};

static const struct usage_entry glimpse_kinds[] = {
    {"text FILE", "text in UTF-8: a glimpse a letter; a byte order mark and a line break at the end are left out"},
    {"image FILE",
     "a PNG: a glimpse a tile, rows of tiles from the top; colours from 0 to 1, what is transparent on white"},
    {"audio FILE", "a WAV, or what else libsndfile reads: a glimpse a window; samples from -1 to 1"},
    {"draw FILE",
     "draws attention to the tiles of a PNG over it: each tile in the colour of its weight, as in heat maps, the "
     "mean where tiles overlap; no weight is dark, the highest is bright"},
    END,
};

static const struct usage_entry glimpse_text[] = {
    {"--alphabet TEXT", "the letters, in the order of their indices; required"},
    {"--other WHAT", "what another letter is: refuse (an error, the default), zero (a row of zeros), or an index"},
    {"--table F", "[L, E]: each letter becomes its row of this table, in the place of a row of zeros with a 1"},
    END,
};

static const struct usage_entry glimpse_image[] = {
    {"--tile H,W", "height and width of a tile, in pixels; required, also by draw"},
    {"--step H,W", "how far apart tiles are, down and across; as --tile if not given; also of draw"},
    {"--grey", "grey alone, so that E is H W and not 3 H W"},
    END,
};

static const struct usage_entry glimpse_audio[] = {
    {"--window N", "samples of a window; required"},
    {"--hop N", "how far apart windows are; as --window if not given"},
    {"--mono", "the mean of all channels, so that E is N and not N times their number"},
    END,
};

static const struct usage_entry glimpse_edges[] = {
    {"--edge drop|pad", "tiles and windows that pass the end are dropped (default), or padded"},
    {"--padding X", "with what; 0 if not given; not of draw"},
    END,
};

static const struct usage_entry glimpse_draw[] = {
    {"--attention F", "[M], [N, M], [H, N, M] or [B, H, N, M], M the number of tiles; required"},
    {"--query I", "the weights of query I, from 0; the mean over all if not given"},
    {"--head I", "the same for heads; it is always the mean over batches"},
    END,
};

static const struct usage_entry glimpse_output[] = {
    {"--output F", "a .npy file [N, E] of float32; of draw a .png file; required"},
    {"--help", "this text; so does -h"},
    {"--", "the end of the options"},
    END,
};

static const struct usage_section glimpse_sections[] = {
    {"Kinds", glimpse_kinds},           {"Of text", glimpse_text},
    {"Of images", glimpse_image},       {"Of audio", glimpse_audio},
    {"At the edge", glimpse_edges},     {"Of draw", glimpse_draw},
    {"What comes out", glimpse_output}, END,
};

static const char *const glimpse_examples[] = {
    "attnzoo glimpse text words.txt --alphabet abcdefghijklmnopqrstuvwxyz \\",
    "    --other zero --output letters.npy",
    "attnzoo glimpse image picture.png --tile 8,8 --grey --output tiles.npy",
    "attnzoo glimpse audio speech.wav --window 400 --hop 160 --output F.npy",
    "attnzoo run scaled_dot_product --query tiles.npy --key tiles.npy \\",
    "    --value tiles.npy --context context.npy --attention attention.npy",
    "attnzoo glimpse draw picture.png --attention attention.npy --tile 8,8 \\",
    "    --query 0 --output drawn.png",
    NULL,
};

const struct usage_page usage_pages[] = {
    {NULL, "attnzoo: attention from files to files, with the mechanisms of libattnzoo.", NULL, 24, overview_sections,
     "Exit status: 0 success, 2 the command line is wrong, 1 something else is, and a line on standard error says what "
     "and where; 1 also where the arrays of 'compare' differ.",
     overview_examples},
    {"run", "Computes attention.", "attnzoo run MECHANISM --query F [--key F] [--value F] --context F [OPTION]...", 22,
     run_sections,
     "An input F is a .npy file or FILE.safetensors:NAME, and --name=VALUE is --name VALUE. Outputs are .npy files of "
     "float32, or of int64 where they are integers; a state is a .safetensors file of float32; each appears whole at the end, or the older file stays as it "
     "was. No output may be a file that is read, but for the state.",
     run_examples},
    {"describe", "Prints what a mechanism computes, and its options, parameters, inputs, outputs and state.",
     "attnzoo describe MECHANISM", 22, describe_sections, NULL, describe_examples},
    {"list",
     "Prints the mechanisms, one a line: the name, then what it is; or of a file the tensors that it holds: name, "
     "element type, shape.",
     "attnzoo list [FILE]", 22, list_sections,
     "Names stand as in the file, but for control characters, each of which is a question mark.", list_examples},
    {"compare",
     "Prints the largest absolute and relative difference between two arrays and where they are, and says whether all "
     "elements agree.",
     "attnzoo compare A B [OPTION]...", 26, compare_sections, NULL, compare_examples},
    {"glimpse",
     "Turns text, pictures and sound into arrays [N, E] of N glimpses, as attention takes them; or draws attention on "
     "a "
     "picture.",
     "attnzoo glimpse KIND FILE [OPTION]... --output F", 20, glimpse_sections,
     "The output appears whole at the end, or the older file stays as it was; it may not be a file that is read.",
     glimpse_examples},
    {NULL, NULL, NULL, 0, NULL, NULL, NULL},
};
