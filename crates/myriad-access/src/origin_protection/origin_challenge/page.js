(() => {
  "use strict";
  const { cookie, challenge, valid } = document.body.dataset;
  const [, , bits, signature] = challenge.split(".");
  const state = document.getElementById("state"), progress = document.getElementById("progress");
  const say = (text) => { state.textContent = text; progress.remove(); };

  // SHA-256 of a text that fits into one block, of which the first 32 bits are wanted. (Web Crypto is not there without HTTPS.)
  const constants = [], start = [];
  const fraction = (number) => Math.floor((number - Math.floor(number)) * 2 ** 32) | 0;
  for (let number = 2; constants.length < 64; number++) {
    let divisor = 2;
    while (divisor * divisor <= number && number % divisor) divisor++;
    if (divisor * divisor <= number) continue;
    if (start.length < 8) start.push(fraction(Math.sqrt(number)));
    constants.push(fraction(Math.cbrt(number)));
  }
  const words = new Int32Array(64), turned = (word, by) => (word >>> by) | (word << (32 - by));
  const first = (text) => {
    words.fill(0, 0, 16);
    for (let at = 0; at < text.length; at++) words[at >> 2] |= text.charCodeAt(at) << (24 - 8 * (at & 3));
    words[text.length >> 2] |= 128 << (24 - 8 * (text.length & 3));
    words[15] = text.length * 8;
    for (let at = 16; at < 64; at++) {
      const near = words[at - 15], far = words[at - 2];
      words[at] = words[at - 16] + (turned(near, 7) ^ turned(near, 18) ^ (near >>> 3)) + words[at - 7] + (turned(far, 17) ^ turned(far, 19) ^ (far >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = start;
    for (let at = 0; at < 64; at++) {
      const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + constants[at] + words[at]) | 0;
      const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
    }
    return (start[0] + a) >>> 0;
  };

  let number = 0;
  const work = () => {
    for (const until = performance.now() + 40; performance.now() < until;) {
      for (const last = number + 500; number < last; number++) {
        if (first(`${signature}.${number}`) >>> (32 - bits) === 0) return done();
      }
    }
    setTimeout(work);
  };
  const done = () => {
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `${cookie}=${challenge}.${number}; path=/; max-age=${valid}; samesite=lax${secure}`;
    if (!document.cookie.includes(`${cookie}=${challenge}`)) {
      return say("This needs a cookie. Please allow cookies for this site, and load the page again.");
    }
    location.reload();
  };
  setTimeout(work);
})();
