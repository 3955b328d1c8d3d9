"""A text with every construct of the language."""

EVERYTHING = """\
module version 1 {
  vdevice @host, @"odd role" scope "texture", @accel = "sim.no-f64:1" scope "s"
  type List[T] { Nil, Cons(T, List[T]), }
  type Pair[A, B] { Two((A, B), (A) -> B) }
  fn @main(%a: f32[n, 4] donate, %l: List[f32[4]]) -> f32[n, 4] @host
      bounds n in 1..512, m in 2..  attrs { entry = true, x = [] } {
    %s = add(%a, %a) @host // a comment
    %t: f32[...] @accel = add(%b, none, axis = -1, k = -inf, z = [nan, 1e5, "a", f32, [none]])
    %c = const f32[2] [0.1, -1e10]
    %i = const i8[3] splat -128
    %b1 = const bool[] true
    %h = const f32[1] hex "0000803f"
    %w = const f32[2] from "w.safetensors" "bias"
    %e = const f64[0, 3] []
    %pk = const f32[2, 1] packed [1.0, 2.0]
    %sh = shape [n, -4, floordiv(n, 2)*(m + 1) - ?]
    %tu = (%s, %t,)
    %t1 = (%s,)
    %t0 = ()
    %p = %tu[0]
    %al = %p
    %g: (f32[1], (f32[2],)) -> (() -> shape[...],) = @main @accel
    %cl = fn(%z: f32[4]) -> f32[4] { return %z }
    %"we/ird:0" = %cl(%z)
    %if = if %s { yield %t } else { %q.1 = abs(%s) yield %q.1 } @host
    %m = match %l {
      Cons(%hd, (_, Nil)) => { yield %hd }
      (%u,) => { yield %u }
      _ => { yield %s }
    }
    dataflow { %d1 = exp(%s) output %d1, %s }
    dataflow { output }
    %cc = Cons(%s, %l)
    %nn = Nil()
    %f = @f(%x, @g, n = 1) @host
    return %d1
  }
}
"""
