//! The smallest call: three tokens, each of which sees itself and those before it.

use attnzoo::{Mask, Module, Tensor};

fn main() -> Result<(), attnzoo::Error> {
    let tokens = [1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0];
    let values = [10.0_f32, 0.0, 0.0, 10.0, 5.0, 5.0];
    let (tokens, values) = (Tensor::new(&tokens, &[3, 2])?, Tensor::new(&values, &[3, 2])?);

    let module = Module::builder("scaled_dot_product")?.prepare()?;
    let mut mask = Mask::new()?;
    mask.set_causal(true)?;
    let context = module.forward(tokens, tokens, values).mask(&mask).into_vec()?;
    for row in context.chunks(2) {
        println!("{:6.3} {:6.3}", row[0], row[1]);
    }
    Ok(())
}
