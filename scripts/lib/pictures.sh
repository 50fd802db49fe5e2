# Draws every picture that the pages show into the current folder, by the command attnzoo alone, and says what is seen. To
# be sourced by bash, with root, attnzoo (the command) and scratch (a folder for the arrays behind the pictures) set, and
# heading() defined. tests/tools/test_pictures.py holds pictures and arrays to what is said here.
# shellcheck shell=bash disable=SC2154

data=$root/examples/data

draw_speech() {
    local speech=$data/speech_alignment
    heading "attnzoo run multi_head on $speech"
    "$attnzoo" run multi_head --query "$speech/query.npy" --key "$speech/memory.npy" --value "$speech/memory.npy" \
        --weights "$speech/weights.safetensors" --set num_heads=8 --context "$scratch/context.npy" \
        --heatmap speech_alignment.png --query-labels "$speech/pieces.txt" --time
    cat <<TEXT

The picture is $PWD/speech_alignment.png

It shows one panel for each of the layer's 8 heads. Left to right run the keys: 290 frames, 7 seconds, of speech.
"The quick brown fox jumped over the lazy dog, and then it runs back home before the rain starts." Top to bottom run
the queries: the 24 pieces of text that a speech recogniser wrote. A bright spot says: while writing this piece, it
listened there. Text and sound run in the same order, so the spots go down the panels like a staircase, clearest in
heads 1 and 7. The thin upright lines are frames that many pieces listen to a little.
TEXT
}

draw_text_recogniser() {
    local line=$data/ocr_line
    heading "attnzoo run multi_head on $line"
    "$attnzoo" run multi_head --query "$line/glimpses.npy" --key "$line/glimpses.npy" --value "$line/glimpses.npy" \
        --weights "$line/weights.safetensors" --set num_heads=8 --context "$scratch/context.npy" \
        --heatmap text_recogniser.png --time
    cat <<TEXT

The picture is $PWD/text_recogniser.png

Here queries and keys are the same: 62 upright strips, left to right, of a picture of the line "weighing what
matters 0431" (line.png in that folder). In head 0 the strips of the number (51 to 60, bottom right) look at the
number. In heads 4 and 6 the gaps between the words (19, 31 and 49) look at each other: the small bright spots where
they cross. In head 3 many strips give all their weight to one and the same strip, often a sign that a head has
nothing to add there.
TEXT
}

draw_spelling() {
    local word=$data/spelling
    heading "attnzoo run additive and location_aware on $word"
    "$attnzoo" run additive --query "$word/query.npy" --key "$word/key.npy" --value "$word/value.npy" \
        --weights "$word/weights.safetensors" --rename 'location_*=' --context "$scratch/context.npy" \
        --heatmap spelling_additive.png --query-labels "$word/read.txt" --key-labels "$word/word.txt"
    "$attnzoo" run location_aware --query "$word/query.npy" --key "$word/key.npy" --value "$word/value.npy" \
        --weights "$word/weights.safetensors" --set initial=first --context "$scratch/context.npy" \
        --heatmap spelling.png --query-labels "$word/read.txt" --key-labels "$word/word.txt"
    cat <<TEXT

The pictures are $PWD/spelling_additive.png
and $PWD/spelling.png

A decoder spells "attention", one letter a step from top to bottom. Its weights were not trained but written by
hand. After a t it asks "what follows a t?", to which the word has three answers. Additive attention, the first
picture, cannot choose. Location-aware attention, the second, takes the one right behind the place where it looked
before; the others stay faint. examples/greedy_decoder.c does the same, step by step.
TEXT
}

finding_alphabet=' 0134aeghimnrstw'

draw_finding() {
    local finding=$data/finding picture=$data/ocr_line/line.png tiles=(--tile "48,13" --step "48,1")
    heading "attnzoo run scaled_dot_product and hard on $picture"
    "$attnzoo" glimpse image "$picture" "${tiles[@]}" --grey --output "$scratch/tiles.npy"
    "$attnzoo" glimpse text "$finding/line.txt" --alphabet "$finding_alphabet" --table "$finding/glyphs.npy" \
        --output "$scratch/looks.npy"
    local inputs=(--query "$scratch/looks.npy" --key "$scratch/tiles.npy" --value "$scratch/tiles.npy" --set scale=20)
    "$attnzoo" run scaled_dot_product "${inputs[@]}" --context "$scratch/context.npy" --attention "$scratch/soft.npy"
    "$attnzoo" run hard "${inputs[@]}" --context "$scratch/chosen.npy" --attention "$scratch/hard.npy" \
        --output index="$scratch/index.npy"
    "$attnzoo" glimpse draw "$picture" "${tiles[@]}" --attention "$scratch/soft.npy" --query 12 --output finding_soft.png
    "$attnzoo" glimpse draw "$picture" "${tiles[@]}" --attention "$scratch/hard.npy" --query 12 --output finding_hard.png
    cat <<TEXT

The pictures are $PWD/finding_soft.png
and $PWD/finding_hard.png

A line of print as overlapping tiles, and the query "what looks like a t?". Its weights were not trained: they are the
letters' own looks. Soft attention, the first picture, is shared by the three t. Hard attention, the second, goes to one
alone, the likeliest, though that is ahead by little.
TEXT
}

draw_reading() {
    local finding=$data/finding picture=$data/ocr_line/line.png
    heading "attnzoo run location on $picture"
    "$attnzoo" glimpse image "$picture" --tile 48,1 --grey --output "$scratch/columns.npy"
    "$attnzoo" glimpse text "$finding/line.txt" --alphabet "$finding_alphabet" --output "$scratch/letters.npy"
    "$attnzoo" run location --query "$scratch/letters.npy" --value "$scratch/columns.npy" \
        --weights "$finding/location.safetensors" --context "$scratch/context.npy" --attention "$scratch/window.npy" \
        --heatmap finding_where.png --query-labels "$finding/line_labels.txt"
    cat <<TEXT

The picture is $PWD/finding_where.png

Top to bottom the letters of "weighing what matters 0431", left to right the 494 columns of pixels of the line in
print. Each letter says how far the window moves on, and how wide it is: far and wide for an m, little for an i. What
is printed there plays no part, and yet the window stands on each letter as it is read. Its weights were not trained but
measured on the picture.
TEXT
}

draw_recalling() {
    local recalling=$data/recalling copying=$data/copying
    heading "attnzoo run introspective on $recalling and $copying"
    "$attnzoo" glimpse text "$recalling/steps.txt" --alphabet 'neural?RUN' --output "$scratch/steps.npy"
    "$attnzoo" run introspective --query "$scratch/steps.npy" --key "$recalling/memory.npy" \
        --value "$recalling/memory.npy" --weights "$recalling/weights.safetensors" --context "$scratch/recalled.npy" \
        --attention "$scratch/heads.npy" --heatmap recalling.png --query-labels "$recalling/step_labels.txt" \
        --key-labels "$recalling/row_labels.txt"
    "$attnzoo" run introspective --query "$copying/query.npy" --key "$copying/memory.npy" \
        --value "$copying/memory.npy" --weights "$copying/weights.safetensors" --context "$scratch/context.npy" \
        --heatmap copying.png --query-labels "$copying/steps.txt"
    cat <<TEXT

The pictures are $PWD/recalling.png
and $PWD/copying.png

Head 1 writes the letters of "neural" into a memory, a row each; head 0 then reads them in the same order. Asked what
stands behind r, behind u and behind n, it finds each by content and moves on by one row: a, r, e. The second picture is
a smaller one, of "copy", without questions. The weights of both were not trained but written by hand.
TEXT
}

draw_pictures() {
    draw_speech
    draw_text_recogniser
    draw_finding
    draw_reading
    draw_spelling
    draw_recalling
}
