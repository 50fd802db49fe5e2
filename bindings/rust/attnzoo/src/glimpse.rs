//! Glimpses: text, images, video and audio as sequences `[B, N, E]` that attention takes, and tiles put back in their
//! places.

use std::ptr::null_mut;

use attnzoo_sys as sys;

use crate::error::{check, Error, Result};
use crate::tensor::{Tensor, TensorMut};
use crate::to_i64;
use crate::view::Handle;

/// In the place of a letter's index: no letter of the alphabet, whose row is all zero.
pub const NO_LETTER: i64 = sys::ATTNZOO_GLIMPSE_NO_LETTER as i64;

/// What a letter is that the alphabet does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OtherLetter {
    /// An error, which names the letter and its place.
    Refuse,
    /// [`NO_LETTER`], and a row of zeros.
    None,
    /// This index, which may lie behind the alphabet's own.
    Index(usize),
}

impl OtherLetter {
    fn number(self) -> Result<i64> {
        match self {
            OtherLetter::Refuse => Ok(i64::from(sys::ATTNZOO_GLIMPSE_REFUSE_LETTER)),
            OtherLetter::None => Ok(NO_LETTER),
            OtherLetter::Index(index) => to_i64("other", index),
        }
    }
}

/// What becomes of tiles that do not fit within the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Edge {
    /// They are dropped: every tile lies within the input.
    Drop,
    /// They are padded: tiles go on until one reaches the input's last element.
    Pad,
}

impl Edge {
    fn number(self) -> i32 {
        match self {
            Edge::Drop => sys::ATTNZOO_GLIMPSE_EDGE_DROP,
            Edge::Pad => sys::ATTNZOO_GLIMPSE_EDGE_PAD,
        }
    }
}

/// Sizes of a tile and steps from one to the next, as the library takes them.
struct Tiling {
    axis_count: i32,
    tile: Vec<i64>,
    step: Vec<i64>,
}

impl Tiling {
    fn new(tile: &[usize], step: Option<&[usize]>) -> Result<Tiling> {
        let step = step.unwrap_or(tile);
        if step.len() != tile.len() {
            return Err(Error::invalid(format!("tile has {} axes, step has {}", tile.len(), step.len())));
        }
        let numbers = |name: &str, sizes: &[usize]| -> Result<Vec<i64>> {
            sizes.iter().enumerate().map(|(axis, &size)| to_i64(&format!("{}[{}]", name, axis), size)).collect()
        };
        // More axes than an i32 counts are too many for the library, too.
        let axis_count = i32::try_from(tile.len()).unwrap_or(i32::MAX);
        Ok(Tiling { axis_count, tile: numbers("tile", tile)?, step: numbers("step", step)? })
    }
}

/// The letters of a text: their places in an alphabet, and for each a row of zeros with a 1 in that place.
///
/// A letter is a `char`: a text has as many as `text.chars().count()`. The alphabet has each letter once, in the order of
/// their indices. Either output may be left out: `indices` is `[N]`, `i32` or `i64`, and `one_hot` is `[N, E]`, E at least
/// the number of the alphabet's letters and more than the index of other letters; columns behind them are 0.
///
/// ```
/// use attnzoo::{glimpse_letters, OtherLetter, TensorMut, NO_LETTER};
///
/// let (mut indices, mut rows) = ([0_i64; 3], [0.0_f32; 6]);
/// glimpse_letters(
///     "zö!",
///     "öz",
///     OtherLetter::None,
///     Some(&mut TensorMut::new(&mut indices, &[3])?),
///     Some(&mut TensorMut::new(&mut rows, &[3, 2])?),
/// )?;
/// assert_eq!(indices, [1, 0, NO_LETTER]);
/// assert_eq!(rows, [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// # Errors
/// [`Status::InvalidArgument`](crate::Status::InvalidArgument): a letter is to be refused, the alphabet has one twice, or
/// the index of other letters passes the type of `indices`; [`Status::ShapeMismatch`](crate::Status::ShapeMismatch),
/// [`Status::DtypeMismatch`](crate::Status::DtypeMismatch), [`Status::OutOfMemory`](crate::Status::OutOfMemory);
/// [`Status::Overlap`](crate::Status::Overlap): strides that lead to one element twice. Then nothing was written.
pub fn glimpse_letters(
    text: &str,
    alphabet: &str,
    other: OtherLetter,
    indices: Option<&mut TensorMut<'_>>,
    one_hot: Option<&mut TensorMut<'_>>,
) -> Result<()> {
    let (indices, one_hot) =
        (indices.map(TensorMut::handle_mut).transpose()?, one_hot.map(TensorMut::handle_mut).transpose()?);
    let (size, alphabet_size) =
        (to_i64("the size of text", text.len())?, to_i64("the size of alphabet", alphabet.len())?);
    let other = other.number()?;
    // SAFETY: pointers and sizes are those of borrowed texts, and the views are of mutably borrowed memory.
    check(unsafe {
        sys::attnzoo_glimpse_letters(
            text.as_ptr().cast(),
            size,
            alphabet.as_ptr().cast(),
            alphabet_size,
            other,
            indices.as_ref().map_or(null_mut(), Handle::as_ptr),
            one_hot.as_ref().map_or(null_mut(), Handle::as_ptr),
        )
    })
}

/// Gathers rows of an embedding table `[L, E]` by indices `[N]` or `[B, N]`, `i32` or `i64`, into glimpses `[N, E]` or
/// `[B, N, E]`: the product of one-hot rows with the table, without that product. [`NO_LETTER`] is a row of zeros.
///
/// ```
/// use attnzoo::{glimpse_embedding, Tensor, TensorMut};
///
/// let mut glimpses = [0.0_f32; 4];
/// let table = Tensor::new(&[1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// glimpse_embedding(&[1_i32, -1], table, &mut TensorMut::new(&mut glimpses, &[2, 2])?)?;
/// assert_eq!(glimpses, [3.0, 4.0, 0.0, 0.0]);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// # Errors
/// [`Status::InvalidArgument`](crate::Status::InvalidArgument): an index has no row, with its place;
/// [`Status::ShapeMismatch`](crate::Status::ShapeMismatch), [`Status::DtypeMismatch`](crate::Status::DtypeMismatch),
/// [`Status::Overlap`](crate::Status::Overlap). Then nothing was written.
pub fn glimpse_embedding<'i>(
    indices: impl Into<Tensor<'i>>,
    table: Tensor<'_>,
    glimpses: &mut TensorMut<'_>,
) -> Result<()> {
    let (indices, table, glimpses) = (indices.into().handle()?, table.handle()?, glimpses.handle_mut()?);
    // SAFETY: the views are of borrowed memory, that of the output mutably.
    check(unsafe { sys::attnzoo_glimpse_embedding(indices.as_ptr(), table.as_ptr(), glimpses.as_ptr()) })
}

/// How many tiles there are along an axis of `size` elements.
///
/// ```
/// use attnzoo::{glimpse_tile_count, Edge};
///
/// assert_eq!(glimpse_tile_count(11, 4, 3, Edge::Drop)?, 3);
/// assert_eq!(glimpse_tile_count(11, 4, 3, Edge::Pad)?, 4);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// # Errors
/// [`Status::InvalidArgument`](crate::Status::InvalidArgument): tile or step is 0, or a number passes 63 bits.
pub fn glimpse_tile_count(size: usize, tile: usize, step: usize, edge: Edge) -> Result<usize> {
    let (size, tile, step) = (to_i64("size", size)?, to_i64("tile", tile)?, to_i64("step", step)?);
    let mut count = 0;
    // SAFETY: the function writes one number.
    check(unsafe { sys::attnzoo_glimpse_tile_count(size, tile, step, edge.number(), &mut count) })?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// All tiles of an input where they lie, by strides alone; those that do not fit whole are dropped.
///
/// The input is `[axes]`, `[axes, C]` or `[B, axes, C]`, of any element type and strides; as many axes are cut as `tile` has
/// sizes, 1 to 3. Along each, tile k starts at k `step`; `None` is as `tile`. An image `[H, W, C]` is seen as `[rows,
/// columns, th, tw, C]`, and a sound `[samples]` as `[N, window]`, which attention takes as it is.
///
/// ```
/// use attnzoo::{glimpse_tile_view, Module};
///
/// let sound = vec![0.5_f32; 1000]; // a sample every 62.5 microseconds
/// let windows = glimpse_tile_view(&sound, &[400], Some(&[160]))?; // of 25 milliseconds every 10
/// assert_eq!((windows.shape(), windows.strides()), (&[4, 400][..], &[160, 1][..]));
/// let context = Module::builder("scaled_dot_product")?.prepare()?.forward(windows, windows, windows).into_vec()?;
/// assert_eq!(context.len(), 4 * 400);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// The view borrows the slice that the input shows, not the input. So the slice cannot go or change while it is used:
///
/// ```compile_fail,E0597
/// # use attnzoo::glimpse_tile_view;
/// let windows = {
///     let sound = vec![0.0_f32; 1000];
///     glimpse_tile_view(&sound, &[400], None).unwrap()
/// };
/// println!("{:?}", windows);
/// ```
///
/// ```compile_fail,E0506
/// # use attnzoo::glimpse_tile_view;
/// let mut sound = [0.0_f32; 1000];
/// let windows = glimpse_tile_view(&sound, &[400], None).unwrap();
/// sound[0] = 1.0;
/// println!("{:?}", windows);
/// ```
///
/// nor can anything be written through it, for tiles that overlap are the same memory:
///
/// ```compile_fail,E0308
/// # use attnzoo::{fill_sinusoidal_positions, glimpse_tile_view, Sinusoid};
/// # let sound = [0.0_f32; 1000];
/// let mut windows = glimpse_tile_view(&sound, &[400], Some(&[160])).unwrap();
/// fill_sinusoidal_positions(&mut windows, 0, 1, Sinusoid::Halves).unwrap();
/// ```
///
/// # Errors
/// [`Status::InvalidArgument`](crate::Status::InvalidArgument): not 1 to 3 axes, a size or step that is 0, another number
/// of steps; [`Status::ShapeMismatch`](crate::Status::ShapeMismatch): the input has too few or too many axes.
pub fn glimpse_tile_view<'a>(
    input: impl Into<Tensor<'a>>,
    tile: &[usize],
    step: Option<&[usize]>,
) -> Result<Tensor<'a>> {
    let tiling = Tiling::new(tile, step)?;
    // SAFETY: tile and step have as many numbers as there are axes.
    input.into().laid_out_by(|view, input| unsafe {
        sys::attnzoo_glimpse_tile_view(view, input, tiling.axis_count, tiling.tile.as_ptr(), tiling.step.as_ptr())
    })
}

/// The same elements as `[N, E]`, or `[B, N, E]` where `batch_axes` is not 0, by joining axes, where strides can do that.
///
/// So many leading axes become B, `glimpse_axes` behind them N, and those behind E, which is 1 where there are none. Frames
/// of a compact video `[T, H, W, C]` become `[T, H W C]` so; tiles narrower than an image do not.
///
/// ```
/// use attnzoo::{glimpse_flat_view, glimpse_tile_view, Status, Tensor};
///
/// let numbers = [0.0_f32; 48];
/// let stereo = Tensor::new(&numbers, &[24, 2])?;
/// assert_eq!(glimpse_flat_view(glimpse_tile_view(stereo, &[6], Some(&[3]))?, 0, 1)?.shape(), [7, 12]);
/// let image = Tensor::new(&numbers, &[6, 8])?;
/// let error = glimpse_flat_view(glimpse_tile_view(image, &[2, 4], None)?, 0, 2).unwrap_err();
/// assert_eq!(error.status(), Status::Unsupported); // glimpse_tiles() copies them
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// # Errors
/// [`Status::Unsupported`](crate::Status::Unsupported): no strides can do it, with the two axes that cannot be joined;
/// [`Status::InvalidArgument`](crate::Status::InvalidArgument): there are not so many axes, or `glimpse_axes` is 0.
pub fn glimpse_flat_view<'a>(
    input: impl Into<Tensor<'a>>,
    batch_axes: usize,
    glimpse_axes: usize,
) -> Result<Tensor<'a>> {
    let number = |axes| i32::try_from(axes).unwrap_or(i32::MAX);
    // SAFETY: the function makes a view, or reports an error.
    input.into().laid_out_by(|view, input| unsafe {
        sys::attnzoo_glimpse_flat_view(view, input, number(batch_axes), number(glimpse_axes))
    })
}

/// Copies the tiles of an input into glimpses `[N, E]`, or `[B, N, E]` where it has batches: an image `[H, W, C]` into `[N,
/// th tw C]`, and video and audio likewise.
///
/// Input, `tile` and `step` are as [`glimpse_tile_view`] takes them; N is the product of what [`glimpse_tile_count`] tells
/// of each axis. Tiles are counted row-major, as are the elements within each. `padding` stands where a tile passes the
/// input, with [`Edge::Pad`].
///
/// ```
/// use attnzoo::{glimpse_tiles, Edge, Tensor, TensorMut};
///
/// let image = [0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
/// let mut tiles = [0.0_f32; 8];
/// let image = Tensor::new(&image, &[2, 4])?;
/// glimpse_tiles(image, &[2, 2], None, Edge::Drop, 0.0, &mut TensorMut::new(&mut tiles, &[2, 4])?)?;
/// assert_eq!(tiles, [0.0, 1.0, 4.0, 5.0, 2.0, 3.0, 6.0, 7.0]);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// # Errors
/// As [`glimpse_tile_view`]; and [`Status::DtypeMismatch`](crate::Status::DtypeMismatch),
/// [`Status::Overlap`](crate::Status::Overlap). Then nothing was written.
pub fn glimpse_tiles<'i>(
    input: impl Into<Tensor<'i>>,
    tile: &[usize],
    step: Option<&[usize]>,
    edge: Edge,
    padding: f64,
    glimpses: &mut TensorMut<'_>,
) -> Result<()> {
    let tiling = Tiling::new(tile, step)?;
    let (input, glimpses) = (input.into().handle()?, glimpses.handle_mut()?);
    // SAFETY: tile and step have as many numbers as there are axes; the views are of borrowed memory, the output's mutably.
    check(unsafe {
        sys::attnzoo_glimpse_tiles(
            input.as_ptr(),
            tiling.axis_count,
            tiling.tile.as_ptr(),
            tiling.step.as_ptr(),
            edge.number(),
            padding,
            glimpses.as_ptr(),
        )
    })
}

/// Puts glimpses back in the places that [`glimpse_tiles`] took them from: the mean where several tiles cover an element, 0
/// where none does. `edge` is that with which the tiles were counted.
///
/// To draw the weights of N tiles over an image, give a view of them as `[N, th tw]` with the strides 1 and 0: each tile is
/// then all of its own weight.
///
/// ```
/// use attnzoo::{glimpse_untile, Edge, Tensor, TensorMut};
///
/// let (weights, mut drawn) = ([0.25_f32, 0.75], [0.0_f32; 3]);
/// let weights = Tensor::with_strides(&weights, 0, &[2, 2], &[1, 0])?;
/// glimpse_untile(weights, &[2], Some(&[1]), Edge::Drop, &mut TensorMut::new(&mut drawn, &[3])?)?;
/// assert_eq!(drawn, [0.25, 0.5, 0.75]);
/// # Ok::<(), attnzoo::Error>(())
/// ```
///
/// # Errors
/// As [`glimpse_tiles`].
pub fn glimpse_untile(
    glimpses: Tensor<'_>,
    tile: &[usize],
    step: Option<&[usize]>,
    edge: Edge,
    output: &mut TensorMut<'_>,
) -> Result<()> {
    let tiling = Tiling::new(tile, step)?;
    let (glimpses, output) = (glimpses.handle()?, output.handle_mut()?);
    // SAFETY: as in glimpse_tiles().
    check(unsafe {
        sys::attnzoo_glimpse_untile(
            glimpses.as_ptr(),
            tiling.axis_count,
            tiling.tile.as_ptr(),
            tiling.step.as_ptr(),
            edge.number(),
            output.as_ptr(),
        )
    })
}
