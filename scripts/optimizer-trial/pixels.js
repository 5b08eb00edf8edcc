// Compares the pixels of two images: async (original, optimized, again) with images as data URLs; `again` is a second image of the original, or null.
// Pixels that differ between the two images of the original are not counted. The picture shows the other different ones in red.
(async (original, optimized, again) => {
    const read = async (url) => createImageBitmap(await (await fetch(url)).blob(), { colorSpaceConversion: "none" });
    const images = await Promise.all([original, optimized, again || original].map(read));
    const width = Math.max(...images.map((image) => image.width));
    const height = Math.max(...images.map((image) => image.height));
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const pixels = images.map((image) => {
        context.clearRect(0, 0, width, height);
        context.drawImage(image, 0, 0);
        return new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
    });
    const [first, second, third] = pixels;
    const shown = new Uint32Array(first.length);
    let count = 0, masked = 0, place = null, last = 0;
    for (let at = 0; at < first.length; at++) {
        const pixel = first[at];
        shown[at] = 0xff000000 | (((pixel >>> 2) & 0x3f3f3f) + 0xc0c0c0);
        if (first[at] !== third[at]) {
            masked++;
        } else if (first[at] !== second[at]) {
            count++;
            place = place || [at % width, Math.floor(at / width)];
            last = Math.floor(at / width);
            shown[at] = 0xff0000ff;
        }
    }
    context.putImageData(new ImageData(new Uint8ClampedArray(shown.buffer), width, height), 0, 0);
    const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
    let picture = "";
    for (let at = 0; at < bytes.length; at += 32768) picture += String.fromCharCode(...bytes.subarray(at, at + 32768));
    return { count, masked, place, last, sizes: images.map((image) => `${image.width}×${image.height}`), picture: btoa(picture) };
})
