fn main() {
    let count = read(1);
    if count < 2 && ready() {
        print("few");
    }

    print("done");
}

fn read(from: u32) -> u32 {
    from + 1
}
