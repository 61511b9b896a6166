}

fn old() {
}
