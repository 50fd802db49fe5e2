//! Prints every mechanism with all that it has, by introspection alone.
fn main() {
    for mechanism in attnzoo::mechanisms() {
        println!("{}: {}", mechanism.name(), mechanism.summary());
        println!("  {}\n  {}", mechanism.formula(), mechanism.source());
        for option in mechanism.options() {
            println!("  option {} ({}, {}): {}", option.name, option.default, option.bounds, option.summary);
        }
        let kinds = [
            ("input", mechanism.inputs()),
            ("parameter", mechanism.parameters()),
            ("output", mechanism.outputs()),
            ("state", mechanism.state_fields()),
        ];
        for (kind, items) in kinds {
            for item in items {
                let required = if item.is_required { ", required" } else { "" };
                println!("  {} {} {}{}: {}", kind, item.name, item.shape, required, item.summary);
            }
        }
    }
}
