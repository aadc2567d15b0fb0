import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** JIT, garbage collection, threads, null pointers by SIGSEGV: prints the same everywhere. */
public class Program {
    static long work(int seed) {
        long sum = seed;
        for (int i = 0; i < 300_000; i++) {
            sum = sum * 6364136223846793005L + i;
            if (i % 1000 == 0) {
                sum += new byte[2000].length;
            }
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        var threads = Executors.newFixedThreadPool(4);
        List<Future<Long>> results = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int seed = i;
            results.add(threads.submit(() -> work(seed)));
        }
        for (Future<Long> result : results) {
            System.out.println(result.get());
        }
        threads.shutdown();
        int caught = 0;
        String nothing = arguments.length > 0 ? "" : null;
        for (int i = 0; i < 20_000; i++) {
            try {
                caught += nothing.length();
            } catch (NullPointerException expected) {
                caught++;
            }
        }
        System.gc();
        var process = new ProcessBuilder("echo", "child").start();
        System.out.println(caught + " " + new String(process.getInputStream().readAllBytes()).trim());
    }
}
