//! Glimpses against plain loops: letters, rows of a table, tiles as views and copies, and tiles put back.

mod common;

use attnzoo::{
    glimpse_embedding, glimpse_flat_view, glimpse_letters, glimpse_tile_count, glimpse_tile_view, glimpse_tiles,
    glimpse_untile, Edge, Error, Module, OtherLetter, Status, Tensor, TensorMut, NO_LETTER,
};
use common::layout::{Kind, Laid};
use common::Random;

fn expect<T: std::fmt::Debug>(result: Result<T, Error>, status: Status, words: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.status(), status, "{}", error);
    assert!(error.message().contains(words), "'{}' does not say '{}'", error, words);
}

#[test]
fn letters_have_their_places_and_rows() {
    for text in ["", "zoo", "z\0ö𝄞z\n", "ooooo!o?"] {
        for alphabet in ["", "zo\0ö𝄞\n", "\nö𝄞\0oz?"] {
            for (other, index) in
                [(OtherLetter::None, NO_LETTER), (OtherLetter::Index(3), 3), (OtherLetter::Index(9), 9)]
            {
                let wanted: Vec<i64> = text
                    .chars()
                    .map(|letter| alphabet.chars().position(|each| each == letter).map_or(index, |place| place as i64))
                    .collect();
                let (letters, columns) = (wanted.len(), 11);
                let (mut indices, mut narrow) = (vec![77_i64; letters], vec![77_i32; letters]);
                let mut laid = Laid::new(&mut Random(1), Kind::F16, &[letters, columns], &vec![5.0; letters * columns]);
                let mut places = TensorMut::new(&mut indices, &[letters]).unwrap();
                glimpse_letters(text, alphabet, other, Some(&mut places), Some(&mut laid.view_mut())).unwrap();
                let mut places = TensorMut::new(&mut narrow, &[letters]).unwrap();
                glimpse_letters(text, alphabet, other, Some(&mut places), None).unwrap();
                assert_eq!(indices, wanted, "{:?} in {:?}", text, alphabet);
                assert!(narrow.iter().map(|&index| i64::from(index)).eq(wanted.iter().copied()));
                let rows = laid.numbers();
                for (place, &number) in rows.iter().enumerate() {
                    let is_there = wanted[place / columns] == (place % columns) as i64;
                    assert_eq!(number, if is_there { 1.0 } else { 0.0 }, "{:?} in {:?}", text, alphabet);
                }
            }
        }
    }
}

#[test]
fn letters_are_refused() {
    let letters = |text: &str, alphabet: &str, other, columns: usize| {
        let mut rows = vec![7.0_f32; 3 * columns];
        let result =
            glimpse_letters(text, alphabet, other, None, Some(&mut TensorMut::new(&mut rows, &[3, columns]).unwrap()));
        assert!(result.is_ok() || rows.iter().all(|&number| number == 7.0));
        result
    };
    letters("zoo", "oz", OtherLetter::Refuse, 2).unwrap();
    expect(letters("zoé", "oz", OtherLetter::Refuse, 2), Status::InvalidArgument, "U+00E9 at byte 2");
    expect(
        letters("zoo", "ozo", OtherLetter::None, 3),
        Status::InvalidArgument,
        "U+006F twice, as letter 0 and as letter 2",
    );
    expect(letters("zo", "oz", OtherLetter::None, 2), Status::ShapeMismatch, "[3, 2], must have [2, 2 or more]");
    expect(letters("zoo", "oz", OtherLetter::None, 1), Status::ShapeMismatch, "[3, 1], must have [3, 2 or more]");
    expect(
        letters("zoo", "oz", OtherLetter::Index(2), 2),
        Status::ShapeMismatch,
        "too few columns for other, which is 2",
    );
    expect(
        letters("zoo", "oz", OtherLetter::Index(usize::MAX), 2),
        Status::InvalidArgument,
        "other is 18446744073709551615",
    );
    let mut narrow = [7_i32; 3];
    let mut indices = TensorMut::new(&mut narrow, &[3]).unwrap();
    let result = glimpse_letters("zoo", "oz", OtherLetter::Index(1 << 31), Some(&mut indices), None);
    expect(result, Status::InvalidArgument, "other is 2147483648, which passes the int32 of indices");
    let mut floats = [7.0_f32; 3];
    let mut indices = TensorMut::new(&mut floats, &[3]).unwrap();
    let result = glimpse_letters("zoo", "oz", OtherLetter::None, Some(&mut indices), None);
    expect(result, Status::DtypeMismatch, "indices is float32, must be int32 or int64");
}

#[test]
fn rows_of_a_table_are_gathered() {
    let mut random = Random(2);
    for shape in [&[7][..], &[1], &[0], &[2, 3], &[3, 0], &[0, 2]] {
        for kind in [Kind::F32, Kind::F16, Kind::Bf16] {
            let table = Laid::new(&mut random, kind, &[5, 4], &Random(3).numbers(20));
            let count: usize = shape.iter().product();
            let indices: Vec<i64> = (0..count).map(|_| random.below(6) as i64 - 1).collect();
            let whole = [shape, &[4]].concat();
            let mut rows = Laid::new(&mut random, Kind::F32, &whole, &vec![9.0; 4 * count]);
            glimpse_embedding(Tensor::new(&indices, shape).unwrap(), table.view(), &mut rows.view_mut()).unwrap();
            let (numbers, rows) = (table.numbers(), rows.numbers());
            for (place, &number) in rows.iter().enumerate() {
                let index = indices[place / 4];
                let wanted = if index == NO_LETTER { 0.0 } else { numbers[4 * index as usize + place % 4] };
                assert_eq!(number, wanted);
            }
        }
    }
    let (table, mut rows) = ([0.0_f32; 6], [7.0_f32; 4]);
    let mut embed = |indices: &[i64], shape: &[usize]| {
        let mut rows = TensorMut::new(&mut rows, &[2, 2]).unwrap();
        glimpse_embedding(indices, Tensor::new(&table, shape).unwrap(), &mut rows)
    };
    expect(embed(&[0, 3], &[3, 2]), Status::InvalidArgument, "3 for glimpse 1 of batch 0, must be 0 to 2");
    expect(embed(&[0, -2], &[3, 2]), Status::InvalidArgument, "-2 for glimpse 1");
    expect(embed(&[0, 1], &[6]), Status::ShapeMismatch, "table has shape [6], must have [L, E]");
    expect(embed(&[0], &[3, 2]), Status::ShapeMismatch, "[2, 2], must have [1, 2]");
    assert_eq!(rows, [7.0; 4]);
}

/// Where the tiles along an axis start, told by placing one after the other.
fn starts(size: usize, tile: usize, step: usize, edge: Edge) -> Vec<usize> {
    let mut found: Vec<usize> = (0..size).step_by(step).filter(|start| start + tile <= size).collect();
    while edge == Edge::Pad && found.last().map_or(true, |last| last + tile < size) && found.len() * step < size {
        found.push(found.len() * step);
    }
    found
}

#[test]
fn tiles_are_counted() {
    for size in 0..12 {
        for tile in 1..5 {
            for step in 1..6 {
                for edge in [Edge::Drop, Edge::Pad] {
                    assert_eq!(
                        glimpse_tile_count(size, tile, step, edge).unwrap(),
                        starts(size, tile, step, edge).len()
                    );
                }
            }
        }
    }
    expect(glimpse_tile_count(5, 0, 1, Edge::Drop), Status::InvalidArgument, "tile is 0");
    expect(glimpse_tile_count(5, 1, 0, Edge::Drop), Status::InvalidArgument, "step is 0");
    expect(glimpse_tile_count(usize::MAX, 1, 1, Edge::Pad), Status::InvalidArgument, "size is 18446744073709551615");
}

/// An input with all axes that there can be: batches, three that are cut, channels.
struct Cut {
    shape: [usize; 5],
    tile: [usize; 3],
    step: [usize; 3],
}

impl Cut {
    /// Cut along so many axes; the axes in front of them are of size 1.
    fn new(random: &mut Random, axis_count: usize, has_batches: bool, has_channels: bool) -> Cut {
        let mut cut = Cut { shape: [1; 5], tile: [1; 3], step: [1; 3] };
        cut.shape[0] = if has_batches { random.below(4) } else { 1 };
        cut.shape[4] = if has_channels { random.below(4) } else { 1 };
        for axis in 3 - axis_count..3 {
            cut.shape[1 + axis] = random.below(8);
            (cut.tile[axis], cut.step[axis]) = (1 + random.below(4), 1 + random.below(5));
        }
        cut
    }

    /// The first element of each tile, row-major.
    fn corners(&self, edge: Edge) -> Vec<[usize; 3]> {
        let along = |axis: usize| starts(self.shape[1 + axis], self.tile[axis], self.step[axis], edge);
        let mut corners = Vec::new();
        for z in along(0) {
            for y in along(1) {
                corners.extend(along(2).into_iter().map(|x| [z, y, x]));
            }
        }
        corners
    }

    fn elements(&self) -> usize {
        self.tile.iter().product::<usize>() * self.shape[4]
    }

    /// For each element of each glimpse, row-major, where it stands in the input; none beyond it.
    fn sources(&self, edge: Edge) -> Vec<Option<usize>> {
        let (shape, mut sources) = (self.shape, Vec::new());
        for batch in 0..shape[0] {
            for corner in self.corners(edge) {
                for element in 0..self.elements() {
                    let (pixel, channel) = (element / shape[4], element % shape[4]);
                    let z = corner[0] + pixel / self.tile[2] / self.tile[1];
                    let y = corner[1] + pixel / self.tile[2] % self.tile[1];
                    let x = corner[2] + pixel % self.tile[2];
                    let is_there = z < shape[1] && y < shape[2] && x < shape[3];
                    let place = (((batch * shape[1] + z) * shape[2] + y) * shape[3] + x) * shape[4] + channel;
                    sources.push(if is_there { Some(place) } else { None });
                }
            }
        }
        sources
    }
}

/// What a view shows of a vector of consecutive numbers, row-major, by its strides.
fn shown(view: &Tensor<'_>) -> Vec<usize> {
    let mut places = vec![0_isize];
    for (&size, &stride) in view.shape().iter().zip(view.strides()) {
        places = places.into_iter().flat_map(|place| (0..size as isize).map(move |i| place + i * stride)).collect();
    }
    places.into_iter().map(|place| place as usize).collect()
}

/// All ways to cut, each some times.
fn for_each_cut(random: &mut Random, mut check: impl FnMut(&mut Random, &Cut, &[usize], usize, bool)) {
    for round in 0..600 {
        let (axis_count, has_batches) = (1 + round % 3, round / 3 % 2 == 1);
        let has_channels = has_batches || round / 6 % 2 == 1;
        let cut = Cut::new(random, axis_count, has_batches, has_channels);
        let first = if has_batches { 0 } else { 4 - axis_count };
        let mut shape: Vec<usize> = cut.shape[first..if has_channels { 5 } else { 4 }].to_vec();
        if has_batches {
            shape.drain(1..4 - axis_count);
        }
        check(random, &cut, &shape, axis_count, has_batches);
    }
}

#[test]
fn tiles_are_copied_and_put_back() {
    let mut with_tiles = 0;
    for_each_cut(&mut Random(4), |random, cut, shape, axis_count, has_batches| {
        let (tile, step) = (&cut.tile[3 - axis_count..], &cut.step[3 - axis_count..]);
        let kinds = [Kind::F32, Kind::F16, Kind::Bf16];
        let (kind, edge) = (random.pick(&kinds), random.pick(&[Edge::Drop, Edge::Pad]));
        let (sources, count) = (cut.sources(edge), shape.iter().product());
        with_tiles += usize::from(!sources.is_empty());
        let numbers = random.numbers(count);
        let input = Laid::new(random, kind, shape, &numbers);
        let batches = if has_batches { &cut.shape[..1] } else { &[] };
        let whole = [batches, &[cut.corners(edge).len(), cut.elements()]].concat();
        let mut glimpses = Laid::new(random, Kind::F32, &whole, &vec![9.0; sources.len()]);
        glimpse_tiles(input.view(), tile, Some(step), edge, -2.5, &mut glimpses.view_mut()).unwrap();
        let wanted = input.numbers();
        for (got, source) in glimpses.numbers().into_iter().zip(&sources) {
            assert_eq!(got, source.map_or(-2.5, |place| wanted[place]));
        }
        let changed = random.numbers(sources.len());
        let glimpses = Laid::new(random, kind, &whole, &changed);
        let mut output = Laid::new(random, Kind::F32, shape, &vec![9.0; count]);
        glimpse_untile(glimpses.view(), tile, Some(step), edge, &mut output.view_mut()).unwrap();
        let (mut sums, mut covers) = (vec![0.0; count], vec![0.0; count]);
        for (number, source) in glimpses.numbers().into_iter().zip(&sources) {
            if let Some(place) = *source {
                sums[place] += number;
                covers[place] += 1.0;
            }
        }
        for (place, got) in output.numbers().into_iter().enumerate() {
            let mean: f64 = if covers[place] > 0.0 { sums[place] / covers[place] } else { 0.0 };
            assert!((got - mean).abs() <= mean.abs() * f64::from(f32::EPSILON), "{} is not {}", got, mean);
        }
    });
    assert!(with_tiles > 200);
}

#[test]
fn tiles_are_seen_where_they_lie() {
    for_each_cut(&mut Random(5), |_, cut, shape, axis_count, has_batches| {
        let (tile, step) = (&cut.tile[3 - axis_count..], &cut.step[3 - axis_count..]);
        let numbers: Vec<u8> = vec![0; shape.iter().product()];
        let view = glimpse_tile_view(Tensor::new(&numbers, shape).unwrap(), tile, Some(step)).unwrap();
        let sizes = &shape[usize::from(has_batches)..][..axis_count];
        let counts = (0..axis_count).map(|axis| starts(sizes[axis], tile[axis], step[axis], Edge::Drop).len());
        let behind = &shape[usize::from(has_batches) + axis_count..];
        let wanted = [&shape[..usize::from(has_batches)], &counts.collect::<Vec<_>>(), tile, behind].concat();
        assert_eq!(view.shape(), wanted);
        let sources: Vec<usize> = cut.sources(Edge::Drop).into_iter().flatten().collect();
        assert_eq!(shown(&view), sources);
    });
}

#[test]
fn views_of_views_and_calls_on_them() {
    let mut random = Random(6);
    let sound = random.numbers(40);
    // The view is of the slice; what it was made of may go.
    let windows = {
        let backwards = Tensor::with_strides(&sound, 39, &[40], &[-1]).unwrap();
        glimpse_tile_view(backwards, &[8], Some(&[4])).unwrap()
    };
    assert_eq!((windows.shape(), windows.strides()), (&[9, 8][..], &[-4, -1][..]));
    let copied: Vec<f32> =
        (0..9).flat_map(|n| (0..8).map(move |i| (n, i))).map(|(n, i)| sound[39 - 4 * n - i]).collect();
    let copied = Tensor::new(&copied, &[9, 8]).unwrap();
    let module = Module::builder("scaled_dot_product").unwrap().prepare().unwrap();
    let context = module.forward(windows, windows, windows).into_vec().unwrap();
    assert_eq!(context, module.forward(copied, copied, copied).into_vec().unwrap());

    let video = [0_i64; 120];
    let video = Tensor::new(&video, &[4, 3, 5, 2]).unwrap();
    for (batch_axes, glimpse_axes, shape, strides) in [
        (0, 1, &[4, 30][..], &[30, 1][..]),
        (1, 2, &[4, 15, 2], &[30, 2, 1]),
        (2, 1, &[12, 5, 2], &[10, 2, 1]),
        (0, 4, &[120, 1], &[1, 1]),
    ] {
        let view = glimpse_flat_view(video, batch_axes, glimpse_axes).unwrap();
        assert_eq!((view.shape(), view.strides()), (shape, strides));
        assert_eq!(view.data_type(), video.data_type());
    }
    expect(glimpse_flat_view(video, 0, 0), Status::InvalidArgument, "glimpse_axes is 0, must be 1 to 4");
    expect(glimpse_flat_view(video, 4, 1), Status::InvalidArgument, "batch_axes is 4, must be 0 to 3");
    expect(glimpse_flat_view(video, 0, usize::MAX), Status::InvalidArgument, "must be 1 to 4");
    let image = Tensor::new(&sound, &[5, 8]).unwrap();
    let tiles = glimpse_tile_view(image, &[2, 4], None).unwrap();
    expect(
        glimpse_flat_view(tiles, 0, 2),
        Status::Unsupported,
        "axes 0 and 1 of input cannot be joined by strides: 2 elements 4 apart lie within a stride of 16",
    );
}

/// Tile, step, and what is said of them.
type Wrong<'a> = (&'a [usize], Option<&'a [usize]>, Status, &'a str);

#[test]
fn wrong_tiles_are_refused() {
    let numbers = [0.0_f32; 24];
    let image = Tensor::new(&numbers, &[4, 6]).unwrap();
    let cases: [Wrong<'_>; 7] = [
        (&[2, 0], None, Status::InvalidArgument, "tile[1] is 0, must be 1 or more"),
        (&[2, 2], Some(&[0, 1]), Status::InvalidArgument, "step[0] is 0, must be 1 or more"),
        (&[2, 2], Some(&[1]), Status::InvalidArgument, "tile has 2 axes, step has 1"),
        (&[2, usize::MAX], None, Status::InvalidArgument, "tile[1] is 18446744073709551615"),
        (&[], None, Status::InvalidArgument, "axis_count is 0, must be 1 to 3"),
        (&[1, 1, 1, 1], None, Status::InvalidArgument, "axis_count is 4, must be 1 to 3"),
        (&[1, 1, 1], None, Status::ShapeMismatch, "[4, 6], must have 3 to 5 axes where 3 are cut"),
    ];
    let mut tiles = [7.0_f32; 24];
    let mut output = TensorMut::new(&mut tiles, &[4, 6]).unwrap();
    for (tile, step, status, words) in cases {
        expect(glimpse_tile_view(image, tile, step), status, words);
        expect(glimpse_tiles(image, tile, step, Edge::Drop, 0.0, &mut output), status, words);
        expect(glimpse_untile(image, tile, step, Edge::Drop, &mut output), status, words);
    }
    let result = glimpse_tiles(image, &[2, 2], None, Edge::Drop, 0.0, &mut output);
    expect(result, Status::ShapeMismatch, "[4, 6], must have [6, 4]");
    let integers = [0_i32; 24];
    let integers = Tensor::new(&integers, &[4, 6]).unwrap();
    let result = glimpse_tiles(integers, &[2, 3], None, Edge::Drop, 0.0, &mut output);
    expect(result, Status::DtypeMismatch, "input is int32");
    let mut twice = TensorMut::with_strides(&mut tiles, 0, &[4, 6], &[1, 1]).unwrap();
    let result = glimpse_tiles(image, &[2, 3], None, Edge::Drop, 0.0, &mut twice);
    expect(result, Status::Overlap, "glimpses");
    assert_eq!(tiles, [7.0; 24]);
}
