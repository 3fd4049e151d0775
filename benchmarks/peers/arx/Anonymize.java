import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXConfiguration.AnonymizationAlgorithm;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.EqualDistanceTCloseness;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.io.CSVHierarchyInput;
import org.deidentifier.arx.metric.Metric;

/**
 * Anonymizes a CSV file: by one node of its lattice, or locally, as ARX's own interface does with "fast" local recoding.
 *
 * Arguments: FILE HIERARCHIES OUTPUT [k=5] [l=3] [t=0.2] [sensitive=COLUMN], then iterations=100 for local recoding, or
 * suppress=0.1 for one node, found by search=optimal or search=genetic. HIERARCHIES holds COLUMN.csv for every
 * quasi-identifier, a value per row and a level per column; other columns are kept.
 */
public class Anonymize {
    public static void main(String[] words) throws Exception {
        Map<String, String> asked = new HashMap<>();
        for (int word = 3; word < words.length; word++) {
            String[] parts = words[word].split("=", 2);
            asked.put(parts[0], parts[1]);
        }
        Data data = declared(words[0], words[1], asked.get("sensitive"));
        ARXConfiguration wanted = models(asked);
        boolean local = asked.containsKey("iterations");
        double share = local ? 1d / Integer.parseInt(asked.get("iterations")) : 0d;
        wanted.setQualityModel(local ? Metric.createLossMetric(0d) : Metric.createLossMetric());
        wanted.setHeuristicSearchThreshold(Integer.MAX_VALUE);
        wanted.setSuppressionLimit(local ? 1d - share : Double.parseDouble(asked.get("suppress")));
        if ("genetic".equals(asked.get("search"))) {
            wanted.setAlgorithm(AnonymizationAlgorithm.BEST_EFFORT_GENETIC);
        }
        ARXResult result = new ARXAnonymizer().anonymize(data, wanted);
        if (!result.isResultAvailable()) {
            throw new IllegalStateException("ARX finds no node that holds the models");
        }
        DataHandle output = result.getOutput();
        if (local) {
            result.optimizeIterativeFast(output, share);
        }
        output.save(words[2], ',');
    }

    private static Data declared(String file, String hierarchies, String sensitive) throws IOException {
        Data data = Data.create(file, StandardCharsets.UTF_8, ',');
        DataHandle input = data.getHandle();
        for (int column = 0; column < input.getNumColumns(); column++) {
            String name = input.getAttributeName(column);
            File levels = new File(hierarchies, name + ".csv");
            if (name.equals(sensitive)) {
                data.getDefinition().setAttributeType(name, AttributeType.SENSITIVE_ATTRIBUTE);
            } else if (levels.exists()) {
                String[][] rows = new CSVHierarchyInput(levels, StandardCharsets.UTF_8, ',').getHierarchy();
                data.getDefinition().setAttributeType(name, Hierarchy.create(rows));
            } else {
                data.getDefinition().setAttributeType(name, AttributeType.INSENSITIVE_ATTRIBUTE);
            }
        }
        return data;
    }

    private static ARXConfiguration models(Map<String, String> asked) {
        ARXConfiguration wanted = ARXConfiguration.create();
        if (asked.containsKey("k")) {
            wanted.addPrivacyModel(new KAnonymity(Integer.parseInt(asked.get("k"))));
        }
        if (asked.containsKey("l")) {
            int values = Integer.parseInt(asked.get("l"));
            wanted.addPrivacyModel(new DistinctLDiversity(asked.get("sensitive"), values));
        }
        if (asked.containsKey("t")) {
            double distance = Double.parseDouble(asked.get("t"));
            wanted.addPrivacyModel(new EqualDistanceTCloseness(asked.get("sensitive"), distance));
        }
        return wanted;
    }
}
